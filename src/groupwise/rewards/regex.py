"""Whether the text matches a regular expression."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.apart import apart
from groupwise.rewards.columns import texts_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Regex:
    """1 if the text matches the pattern, or one of the row's, else 0.

        score = 1[ match(pattern, text) ],   match = re.search or re.fullmatch of Python

    Flags are written in the pattern: (?i) ignores case, (?s) lets a point match line ends, (?m) lets ^ and $ stand at
    each line. A pattern with repetitions inside repetitions, such as (a+)+b, can take time exponential in the text:
    a judgement runs in a process that is ended after its time, and then there is none (None). A policy that
    finds such texts is not paid for them, nor punished: write patterns without, or set rewards.timeout_score.

    Raises ConfigError for a pattern that is none, RewardError for one in a row.
    """

    pattern: str | None = None  # of every row
    column: str | None = None  # or the column that holds the row's pattern, or a list of them
    match: Literal["search", "fullmatch"] = "search"  # whether it may stand anywhere, or must be all of the text

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.pattern is None) == (self.column is None):
            raise ConfigError(
                f"regex.pattern = {self.pattern!r} and regex.column = {self.column!r}: set one of the two"
            )
        if self.match not in ("search", "fullmatch"):
            raise ConfigError(f"regex.match = {self.match!r}, must be `search` or `fullmatch`")
        if self.pattern is not None and (fault := _fault(self.pattern)):
            raise ConfigError(f"regex.pattern = {self.pattern!r:.300} is not a regular expression: {fault}")

    def __call__(self, row: Mapping[str, Any], text: str) -> Any:
        """Score one completion, in a process that can be killed."""
        return apart(self, row, text)

    def judge(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion in this process."""
        if self.pattern is not None:
            patterns: tuple[str, ...] = (self.pattern,)
        else:
            patterns = texts_in(row, str(self.column), "regex.column", "a regular expression")
        for pattern in patterns:
            if fault := _fault(pattern):
                raise RewardError(
                    f"found {pattern!r:.300} in column `{self.column}`, which is not a regular expression: {fault}. "
                    "Correct the row, or write literal text through re.escape"
                )
        return float(any(getattr(_compiled(pattern), self.match)(text) is not None for pattern in patterns))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


def _fault(pattern: str) -> str:
    """What is wrong with a pattern; empty if nothing is."""
    try:
        _compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""
