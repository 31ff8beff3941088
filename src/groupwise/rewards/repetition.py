"""How much of the text is said again."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError

_WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """The share of a text's n-grams that stood in it before: as a penalty from 0 down to -1, or 1 less that share.

        repeated = 1 - |distinct n-grams| / |n-grams|
        score    = -repeated ("penalty"),   1 - repeated ("distinct")

    An n-gram is n neighbours: words and single punctuation marks, case aside, or with `unit: characters` (for scripts
    that put no blanks between words; n about 6) characters, blanks left out. A text with fewer than n of them repeats
    nothing: 0 or 1. So does an empty one, and very short ones are safe from any penalty: keep a reward for content or
    `length` beside it.
    """

    n: int = 4  # neighbours in an n-gram
    unit: Literal["words", "characters"] = "words"  # what a neighbour is
    score: Literal["penalty", "distinct"] = "penalty"  # from 0 down to -1, or from 1 down to 0

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 100:
            raise ConfigError(f"repetition.n = {self.n}, must be from 1 to 100")
        if self.unit not in ("words", "characters"):
            raise ConfigError(f"repetition.unit = {self.unit!r}, must be `words` or `characters`")
        if self.score not in ("penalty", "distinct"):
            raise ConfigError(f"repetition.score = {self.score!r}, must be `penalty` or `distinct`")

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        text = text.casefold()
        units = _WORDS.findall(text) if self.unit == "words" else list("".join(text.split()))
        total = len(units) - self.n + 1
        repeated = 1 - len(set(_grams(units, self.n))) / total if total > 0 else 0.0
        return 0.0 - repeated if self.score == "penalty" else 1 - repeated


def _grams(units: list[str], n: int) -> Iterable[int]:
    """Each n-gram's hash: a set of them is small, and two different ones meet once in 2^64."""
    return (hash(tuple(units[i : i + n])) for i in range(len(units) - n + 1))
