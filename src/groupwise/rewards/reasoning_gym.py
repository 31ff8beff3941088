"""The verifier of a reasoning-gym task."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from groupwise.errors import ConfigError, MissingExtra, RewardError, did_you_mean

FAULTY: Mapping[str, str] = {
    "arc_agi": "does not accept its own answer once a row was written to a file",
    "boxnet": "does not accept its own answer",
    "game_of_life_halting": "gives full marks to any text",
    "graph_color": "does not accept its own answer",
    "prime_factorization": "raises on text that is not a factorization",
    "propositional_logic": "does not accept its own answer",
    "rearc": "does not accept its own answer once a row was written to a file",
    "rubiks_cube": "does not accept its own answer",
    "rush_hour": "does not accept its own answer",
}
"""Tasks of reasoning-gym 0.1.25 whose scorer cannot be trained on, and why."""

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningGym:
    """The score of the task's own verifier, in [0, 1]; many give part marks.

    The row is one of `task_rows("reasoning_gym.NAME", ...)`: `answer`, and `metadata` whose `source_dataset`
    names the task. `extract` says what of the text is the answer: "whole", blanks at both ends aside;
    "last_line", its last line that is not blank; "tag", what stands in the last <answer>...</answer>.
    A text without an answer scores 0.

    Raises RewardError for a row that names no known task, or a task whose verifier is `FAULTY`;
    MissingExtra on construction without the extra "reasoning-gym".
    """

    extract: Literal["whole", "last_line", "tag"] = "whole"

    def __post_init__(self) -> None:
        if self.extract not in ("whole", "last_line", "tag"):
            raise ConfigError(f"reasoning_gym.extract = {self.extract!r}, must be `whole`, `last_line` or `tag`")
        _factory()

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion."""
        metadata = row.get("metadata")
        task = metadata.get("source_dataset") if isinstance(metadata, Mapping) else None
        if not isinstance(task, str) or "answer" not in row:
            raise RewardError(
                "needs a row with `answer` and with `metadata` that names its `source_dataset`; the row has: "
                f"{', '.join(row)}. Rows come from the task `reasoning_gym.NAME`"
            )
        answer = self._answer(text)
        entry = {"question": row.get("prompt"), "answer": row["answer"], "metadata": metadata}
        return float(_scorer(task)(answer, entry)) if answer else 0.0

    def _answer(self, text: str) -> str:
        if self.extract == "tag":
            tagged = _ANSWER.findall(text)
            return tagged[-1].strip() if tagged else ""
        text = text.strip()
        return text.rpartition("\n")[2] if self.extract == "last_line" else text


def _factory() -> Any:
    try:
        import reasoning_gym.factory as factory
    except ImportError as error:
        raise MissingExtra("reasoning-gym", "reasoning-gym", "the reward `reasoning_gym`") from error
    return factory


@cache
def _scorer(task: str) -> Callable[[str, Mapping[str, Any]], float]:
    factory = _factory()
    if task not in factory.DATASETS:
        raise RewardError(f"knows no task `{task}`.{did_you_mean(task, factory.DATASETS)}")
    if task in FAULTY:
        raise RewardError(f"cannot score the task `{task}`: its verifier {FAULTY[task]}. Choose another task")
    scorer: Callable[[str, Mapping[str, Any]], float] = factory.get_score_answer_fn(task)
    return scorer
