"""Whether words or phrases stand in the text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError
from groupwise.rewards.columns import texts_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Contains:
    """1 if the wanted phrases stand in the text and no forbidden one does, else 0.

        score = how({ 1[p in text] : p in wanted }) * 1[ no q in forbidden is in text ]

    Wanted are `phrases` and those of the row's `column`, a text or a list of texts. `how`: "all" 1 if every one is
    there; "any" if one is; "share" the share of them that is there. Without wanted ones only the forbidden count.
    With `whole_words` a phrase must not touch a letter, digit or underscore at either end: "art" is not in "party".
    That is of no use for scripts that put no blanks between words.

    Raises RewardError for a row whose column holds no text.
    """

    phrases: tuple[str, ...] = ()  # wanted in every row
    column: str | None = None  # the column that holds a wanted phrase, or a list of them
    forbidden: tuple[str, ...] = ()  # must not be there
    how: Literal["all", "any", "share"] = "all"  # how many of the wanted phrases must be there
    whole_words: bool = False  # whether a phrase may not be a part of a longer word
    ignore_case: bool = False  # whether Paris is PARIS

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.how not in ("all", "any", "share"):
            raise ConfigError(f"contains.how = {self.how!r}, must be `all`, `any` or `share`")
        for name in ("phrases", "forbidden"):
            given: Any = getattr(self, name)
            if isinstance(given, str) or "" in given:
                raise ConfigError(f"contains.{name} = {given!r}, must be a list of texts that are not empty")
        if not (self.phrases or self.column or self.forbidden):
            raise ConfigError("contains has nothing to look for: set contains.phrases, column or forbidden")

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion."""
        wanted = self._wanted(row)
        text = self._plain(text)
        if any(self._stands(phrase, text) for phrase in self.forbidden):
            return 0.0
        found = [self._stands(phrase, text) for phrase in wanted]
        if not found:
            return 1.0
        share = sum(found) / len(found)
        return share if self.how == "share" else float(any(found) if self.how == "any" else all(found))

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """A text that must score 1 on this row: its phrases in a line; None if the row adds none of its own."""
        if self.column is None or row.get(self.column) is None:
            return None
        text = " ".join(self._wanted(row))
        return text if self(row, text) == 1.0 else None  # phrases may hold a forbidden one

    def _wanted(self, row: Mapping[str, Any]) -> Sequence[str]:
        own = texts_in(row, self.column, "contains.column", "what the text must contain") if self.column else ()
        return (*self.phrases, *own)

    def _plain(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text

    def _stands(self, phrase: str, text: str) -> bool:
        phrase = self._plain(phrase)
        if not self.whole_words:
            return phrase in text
        return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None
