"""What a reward model says of the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from groupwise.errors import ConfigError, DataError, RewardError
from groupwise.rewards.served import scores_from


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """The score of a sequence-classification model with one label, at the response's last token.

    `path` is a folder (such as RUN/model of a run with `objective.name: reward_model`) or a hub id. Prompt and text
    are rendered as in training, with the model's own chat template or as plain text; texts are scored together, on
    the same device as the policy, and a score does not depend on what it is scored with. The model is loaded at the
    first call. A text that cannot be rendered, such as one that spells an end token, is None: not judged.

    With `url` in place of `path` the model is another process's, on this machine or another, which
    `groupwise serve-reward` started: it scores groups while others are sampled, and takes no memory here.

    Raises RewardError for a row without the prompt's column, and for a server that gives no scores.
    """

    path: str = ""  # a folder or a hub id
    url: str | None = None  # or where it is served, such as http://127.0.0.1:8765
    timeout_s: float = 60.0  # of a request to a server: a group's texts
    prompt_column: str = "prompt"  # the row's column that holds the text or the messages that were answered
    dtype: str = "float32"  # what the model computes in
    max_tokens: int = 16384  # tokens of texts scored at once; changes memory, not the scores

    batched = True
    in_process = True  # on the trainer's device, or its server waited for

    @property
    def overlaps(self) -> bool:
        """Whether it waits for a server while others are sampled."""
        return self.url is not None

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.url):
            raise ConfigError(
                "model needs the setting `path`, a reward model's folder or hub id, or `url`: one of them"
            )
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"model.url = {self.url!r}, must start with http:// or https://")
        if not self.timeout_s > 0:
            raise ConfigError(f"model.timeout_s = {self.timeout_s}, must be above 0")
        if not self.max_tokens >= 1:
            raise ConfigError(f"model.max_tokens = {self.max_tokens}, must be 1 or more")

    def __call__(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float | None]:
        """Score each text as the answer to its row's prompt."""
        prompts = [self._prompt(row) for row in rows]
        if self.url is not None:
            return scores_from(self.url, prompts, texts, timeout_s=self.timeout_s)
        model, renderer = _loaded(self.path, self.dtype)
        encoded: list[tuple[int, ...] | None] = []
        for prompt, text in zip(prompts, texts, strict=True):
            try:
                response = renderer.completion(prompt, text, score=None).token_ids
                encoded.append(renderer.prompt_ids(prompt) + response)
            except DataError:
                encoded.append(None)
        scores = iter(model.rewards([ids for ids in encoded if ids is not None], max_tokens=self.max_tokens))
        return [None if ids is None else next(scores) for ids in encoded]

    def load(self) -> None:
        """Load the model now. Raises ModelError for what is none."""
        _loaded(self.path, self.dtype)

    def _prompt(self, row: Mapping[str, Any]) -> Any:
        prompt = row.get(self.prompt_column)
        if not prompt:
            raise RewardError(
                f"found {prompt!r} in column `{self.prompt_column}`, which must hold what was answered. "
                f"The row has: {', '.join(row)}; set model.prompt_column to one of them"
            )
        return prompt


@lru_cache(maxsize=2)
def _loaded(path: str, dtype: str) -> tuple[Any, Any]:
    from groupwise.data.render import Renderer
    from groupwise.models.load import end_token_ids
    from groupwise.models.scalar import ScalarModel

    model = ScalarModel.load(path, dtype=dtype)
    return model, Renderer(model.tokenizer, end_ids=end_token_ids(model.model, model.tokenizer))
