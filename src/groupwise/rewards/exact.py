"""Whether the text is the right one, word for word."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from groupwise.errors import RewardError
from groupwise.rewards.columns import texts_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact:
    """1 if the text equals the row's answer, or one of them if the column holds a list, else 0.

        score = 1[ plain(text) in { plain(a) : a in row[answer_column] } ]

    plain() leaves a text as it is, and drops what the settings say to ignore: case (by Unicode's case folding),
    punctuation (characters of Unicode's P categories; $, + and = are none), blanks (at both ends; a run of them inside
    counts as one). A number in the column is compared as Python writes it. Letters are compared by code point: an e
    with a combining accent is not the single letter.

    Raises RewardError for a row without an answer, or with one of which nothing is left.
    """

    answer_column: str = "answer"  # the column that holds the right text, or a list of accepted ones
    ignore_case: bool = False  # whether Paris is PARIS
    ignore_blanks: bool = False  # whether blanks around the text, and how many stand inside, make no difference
    ignore_punctuation: bool = False  # whether "Yes." is "Yes"

    deterministic: ClassVar[bool] = True

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion."""
        accepted = {self._plain(answer) for answer in self._answers(row)}
        if "" in accepted:
            raise RewardError(
                f"has nothing to compare with {row[self.answer_column]!r:.200} in column `{self.answer_column}`: all "
                "of it is ignored; set exact.ignore_punctuation or exact.ignore_blanks to false"
            )
        return float(self._plain(text) in accepted)

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """A text that must score 1 on this row."""
        return None if row.get(self.answer_column) is None else self._answers(row)[0]

    def _answers(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return texts_in(row, self.answer_column, "exact.answer_column", "the right text")

    def _plain(self, text: str) -> str:
        if self.ignore_punctuation:
            marks = {ord(c): None for c in set(text) if unicodedata.category(c).startswith("P")}
            text = text.translate(marks)
        if self.ignore_case:
            text = text.casefold()
        return " ".join(text.split()) if self.ignore_blanks else text
