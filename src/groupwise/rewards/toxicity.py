"""Whether the text is free of swearing and insults."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, MissingExtra

_SENTENCE = re.compile(r"(?<=[.!?\n])\s+|\n+")
MOST = 400  # sentences of a text that are looked at one by one; of a longer one, neighbours are joined


@dataclass(frozen=True, kw_only=True, slots=True)
class Toxicity:
    """1 less the probability that a sentence of the text swears, of the worst one: 1 is clean.

        score = 1 - max_s p(offensive | s),   s the sentences and lines of the text; with `by: text` all of it at once

    p is alt-profanity-check's: a linear classifier on English words, learned from comments on websites. It knows
    swear words and crude insults. It is no judge of harm: threats, hatred and dangerous advice in clean words pass,
    as do swear words that are misspelt or of other languages; docs/rewards/builtin.md has its error rates. With
    `by: text` a swear word weighs less the longer the text around it is, so that a policy can dilute it.
    An empty text is clean, 1: keep a reward for content beside it.

    Needs the extra "toxicity": MissingExtra on construction without it.
    """

    by: Literal["sentence", "text"] = "sentence"  # what is judged at once

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.by not in ("sentence", "text"):
            raise ConfigError(f"toxicity.by = {self.by!r}, must be `sentence` or `text`")
        _classifier()

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        pieces = [text] if self.by == "text" else [piece for piece in _SENTENCE.split(text) if piece.strip()]
        if not pieces:
            return 1.0
        together = -(-len(pieces) // MOST)
        joined = [" ".join(pieces[i : i + together]) for i in range(0, len(pieces), together)]
        return 1.0 - max(float(p) for p in _classifier()(joined))


@cache
def _classifier() -> Any:
    try:
        from profanity_check import predict_prob
    except ImportError as error:
        raise MissingExtra("alt-profanity-check", "toxicity", "the reward `toxicity`") from error
    return predict_prob
