"""The verifier of a reasoning-gym task."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, MissingExtra, RewardError, did_you_mean
from groupwise.rewards.apart import apart

FAULTY: Mapping[str, str] = {
    "arc_agi": "does not accept its own answer once a row was written to a file",
    "boxnet": "does not accept its own answer",
    "coin_flip": "gives full marks to the answer 0",
    "game_of_life_halting": "gives full marks to any text",
    "graph_color": "does not accept its own answer",
    "prime_factorization": "raises on text that is not a factorization",
    "propositional_logic": "does not accept its own answer",
    "puzzle24": "accepts any four numbers that make 24, whether the problem has them or not",
    "rearc": "does not accept its own answer once a row was written to a file",
    "rubiks_cube": "does not accept its own answer",
    "rush_hour": "does not accept its own answer",
}
"""Tasks of reasoning-gym 0.1.25 whose scorer cannot be trained on, and why."""

LONGEST = 20_000  # characters of an answer

# Verifiers that run the answer as Python get only what can do no more than its task needs.
_SUM = re.compile(r"(?!.*(\*\*|//))[0-9 +\-*/()]{1,300}")
_CELLS = re.compile(r"[0-9 \n-]+|[Q_ \n]+|[A-Z]+")
_MATHEMATICS = re.compile(
    r"(?!.*\*\*\s*[(+-]*\s*[0-9.]+[\s)]*\*\*)(?:"  # no powers of powers of numbers
    r"(?<![A-Za-z_.])(?:[A-Za-z]|sin|cos|tan|exp|log|sqrt|pi)(?![A-Za-z_0-9])"  # no other names, none after a point
    r"|(?<![0-9.])[0-9]{1,20}(?:\.[0-9]{1,20})?(?![0-9.])|(?<!\*)\*\*(?!\s*[(+-]*\s*[0-9]{3}|\*)|(?<!\*)\*(?!\*)"
    r"|[ \n+/()-])+",
    re.DOTALL,
)
_COMPLEX = re.compile(r"[0-9.ij +*()-]+")  # to this verifier NaN is near every number
_KINDS: Mapping[str, Literal["sum", "mathematics", "complex", "cells"]] = {
    "binary_matrix": "cells",
    "complex_arithmetic": "complex",
    "countdown": "sum",
    "intermediate_integration": "mathematics",
    "n_queens": "cells",
    "polynomial_multiplication": "mathematics",
    "simple_integration": "mathematics",
    "spiral_matrix": "cells",
    "string_insertion": "cells",
}
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningGym:
    """The score of the task's own verifier, in [0, 1]; many give part marks.

    The row is one of `task_rows("reasoning_gym.NAME", ...)`: `answer`, and `metadata` whose `source_dataset`
    names the task. `extract` says what of the text is the answer: "whole", blanks at both ends aside;
    "last_line", its last line that is not blank; "tag", what stands in the last <answer>...</answer>.
    A text without an answer scores 0, as does one of more than 20,000 characters.

    The package's verifiers are not all fit to judge what a policy writes, so that
    * a task whose verifier cannot be trained on is refused (`FAULTY`);
    * eight verifiers run the answer as Python code: an answer that is more than numbers, operators and the names
      of mathematics, or a literal list, is not shown to them and scores 0;
    * one that raises on a text, and accepts the row's own answer, has refused it: 0;
    * a judgement runs in a process that is ended after its time.

    Raises RewardError for a row that names no known task, or a task whose verifier is `FAULTY`;
    MissingExtra on construction without the extra "reasoning-gym".
    """

    extract: Literal["whole", "last_line", "tag"] = "whole"  # what of the text is the answer

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.extract not in ("whole", "last_line", "tag"):
            raise ConfigError(f"reasoning_gym.extract = {self.extract!r}, must be `whole`, `last_line` or `tag`")
        _factory()

    def __call__(self, row: Mapping[str, Any], text: str) -> Any:
        """Score one completion, in a process that can be killed."""
        return apart(self, row, text)

    def judge(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion in this process."""
        metadata = row.get("metadata")
        task = metadata.get("source_dataset") if isinstance(metadata, Mapping) else None
        if not isinstance(task, str) or not isinstance(row.get("answer"), str):
            raise RewardError(
                "needs a row with `answer`, a text, and with `metadata` that names its `source_dataset`; the row has: "
                f"{', '.join(row)}. Rows come from the task `reasoning_gym.NAME`"
            )
        scorer, own = _scorer(task), row["answer"]
        answer = self._answer(text)
        if not answer or (answer != own and not (len(answer) <= LONGEST and _is_harmless(answer, _KINDS.get(task)))):
            return 0.0
        entry = {"question": row.get("prompt"), "answer": own, "metadata": metadata}
        try:
            return float(scorer(answer, entry))
        except Exception as error:
            if _accepts(scorer, own, entry):
                return 0.0
            raise RewardError(
                f"got {error!r} from the verifier of `{task}`, which does not accept the row's own answer either: the "
                "row is not one of this task, or the task cannot be used"
            ) from error

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """A text that must score high on this row; None if its answer does not fit in the place that is looked at."""
        answer = row.get("answer")
        if not isinstance(answer, str) or (self.extract == "last_line" and "\n" in answer.strip()):
            return None
        return f"<answer>{answer}</answer>" if self.extract == "tag" else answer

    def _answer(self, text: str) -> str:
        if self.extract == "tag":
            tagged = _ANSWER.findall(text)
            return tagged[-1].strip() if tagged else ""
        text = text.strip()
        return text.rpartition("\n")[2] if self.extract == "last_line" else text


def _accepts(scorer: Callable[[str, Mapping[str, Any]], float], own: str, entry: Mapping[str, Any]) -> bool:
    try:
        return float(scorer(own, entry)) > 0
    except Exception:  # what it says is in the error of the caller
        return False


def _is_harmless(answer: str, kind: str | None) -> bool:
    """Whether a verifier that would run it as code, or be fooled by it, may see the answer."""
    if kind is None:
        return True
    if kind == "cells":
        return _CELLS.fullmatch(answer) is not None or _is_list(answer)
    return {"sum": _SUM, "mathematics": _MATHEMATICS, "complex": _COMPLEX}[kind].fullmatch(answer) is not None


def _is_list(answer: str) -> bool:
    try:
        return isinstance(ast.literal_eval(answer), list)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False


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
