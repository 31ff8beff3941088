"""Whether the text has the form asked for: tags, in order."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from groupwise.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """1 if each tag stands in the text exactly once, filled and in order, else 0.

    For tags t_1 ... t_m the text must be <t_1>...</t_1> <t_2>...</t_2> ..., in these ways:
    each tag is opened once, closed once, and holds more than blanks (m conditions);
    each begins after the one before has ended (1 condition, if m > 1);
    with `strict`, nothing but blanks stands outside of them (1 condition).

        score = 1[ all conditions hold ];   with `part_marks` the share of them that holds

    With part marks, the last two conditions count only where all tags are there: an empty text scores 0. Tags are
    compared as written, without attributes. What stands in them is not looked at: make this a gate or a small part
    of `combine`, beside a reward that reads the answer.
    """

    tags: tuple[str, ...] = ("think", "answer")  # in order, without < and >
    strict: bool = True  # whether nothing may stand outside of the tags
    part_marks: bool = False  # whether some of the form is worth something
    opened: bool = False  # whether the prompt ends in the first opening tag, so that the text begins inside of it

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        tags: Any = self.tags
        if isinstance(tags, str) or not tags or not all(_NAME.fullmatch(tag) for tag in tags):
            raise ConfigError(f"format.tags = {tags!r}, must be a list of names such as `think`, without < and >")
        if len(set(tags)) < len(tags):
            raise ConfigError(f"format.tags = {tags!r}: each tag may stand there once")

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        if self.opened:
            text = f"<{self.tags[0]}>{text}"
        spans = [_span(tag, text) for tag in self.tags]
        good = [span for span in spans if span is not None]
        conditions = [span is not None for span in spans]
        whole = len(good) == len(spans)
        if len(spans) > 1:
            conditions.append(whole and all(one[1] <= two[0] for one, two in pairwise(good)))
        if self.strict:
            conditions.append(whole and not _outside(good, text).strip())
        return sum(conditions) / len(conditions) if self.part_marks else float(all(conditions))


def _span(tag: str, text: str) -> tuple[int, int] | None:
    """Where a tag begins and ends; None unless it is opened and closed once, in that order, around something."""
    begins, ends = f"<{tag}>", f"</{tag}>"
    if text.count(begins) != 1 or text.count(ends) != 1:
        return None
    begin, end = text.index(begins), text.index(ends)
    return (begin, end + len(ends)) if text[begin + len(begins) : end].strip() else None


def _outside(spans: list[tuple[int, int]], text: str) -> str:
    pieces, last = [], 0
    for begin, end in sorted(spans):
        pieces.append(text[last:begin])
        last = max(last, end)
    return "".join([*pieces, text[last:]])
