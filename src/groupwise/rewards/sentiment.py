"""How positive the text sounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, MissingExtra


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentiment:
    """VADER's compound score of the text, in [-1, 1] (Hutto and Gilbert, 2014); of the opposite sign for "negative".

    A lexicon and rules for English: fast (under 0.1 ms a sentence) and easy to please, so keep a KL term on.
    An empty text scores 0. Needs the extra "sentiment": MissingExtra on construction without it.
    """

    target: Literal["positive", "negative"] = "positive"  # which sign is rewarded

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.target not in ("positive", "negative"):
            raise ConfigError(f"sentiment.target = {self.target!r}, must be `positive` or `negative`")
        _analyzer()

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        compound = float(_analyzer().polarity_scores(text)["compound"])
        return compound if self.target == "positive" else -compound


@cache
def _analyzer() -> Any:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise MissingExtra("vaderSentiment", "sentiment", "the reward `sentiment`") from error
    return SentimentIntensityAnalyzer()
