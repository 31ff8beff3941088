"""Whether the answer's number is the right one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.places import LONGEST, NUMBER, after_hashes, last_number

_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{(-?[0-9]+)\}\{([0-9]+)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactAnswer:
    r"""1 if the number found in the text equals the row's answer, else 0.

        score = 1[ extract(text) == row[answer_column] ]

    `extract` says where the number is looked for:
    "last_number"  the last number anywhere in the text;
    "boxed"        inside the last \boxed{...}, which holds one number and perhaps its unit;
    "hashes"       after the last ####, to the end of that line: one number and perhaps its unit;
    "whole"        the text is the number and nothing else (blanks and a final point aside).

    Numbers are compared exactly, as fractions: 0.50 = 1/2 = .5 = 5e-1, 1,234.0 = 1234, $7 = 7, -0 = 0; 0.333
    is not 1/3. Units and percent signs are not read: "50 %" is 50. Nothing is evaluated: "2*3" holds 2 and 3.
    A text without a number in that place scores 0, as does a number of more than 1,000 characters.
    The row's answer is a number, a text that is one, or ends in "#### number" as GSM8K's. An answer that is
    not a number is compared as text, blanks and case aside; not with "last_number", which refuses it.

    Raises RewardError for a row without a usable answer.
    """

    extract: Literal["last_number", "boxed", "hashes", "whole"] = "last_number"  # what of a completion is its answer
    answer_column: str = "answer"  # the column that holds the right answer

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.extract not in _PLACES:
            raise ConfigError(f"exact_answer.extract = {self.extract!r}, must be one of {', '.join(_PLACES)}")

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion."""
        expected = self._expected(row)
        found = _PLACES[self.extract](text)
        if isinstance(expected, Fraction):
            return float(found is not None and _only_number(found, alone=self.extract == "whole") == expected)
        return float(found is not None and _plain(found) == expected)

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """A text that must score 1 on this row."""
        value = row.get(self.answer_column)
        answer = "" if value is None else str(value).rpartition("####")[2].strip()
        return (
            {"boxed": f"\\boxed{{{answer}}}", "hashes": f"#### {answer}"}.get(self.extract, answer) if answer else None
        )

    def _expected(self, row: Mapping[str, Any]) -> Fraction | str:
        value = row.get(self.answer_column)
        if value is None or isinstance(value, bool) or not str(value).strip():
            raise RewardError(
                f"found {value!r} in column `{self.answer_column}`, which must hold the right answer. "
                f"The row has: {', '.join(row)}; set exact_answer.answer_column to one of them"
            )
        answer = str(value).rpartition("####")[2]
        number = _only_number(answer, alone=True)
        if number is not None:
            return number
        if self.extract == "last_number":
            raise RewardError(
                f'cannot compare a last number with the answer {answer[:80]!r}, which is none: use extract="whole", '
                '"boxed" or "hashes"'
            )
        return _plain(answer)


def _boxed(text: str) -> str | None:
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    start += len("\\boxed{")
    depth = 1
    for end in range(start, min(len(text), start + LONGEST)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return _LATEX_FRACTION.sub(r"\1/\2", text[start:end])
    return None


_PLACES: Mapping[str, Callable[[str], str | None]] = {
    "last_number": last_number,
    "boxed": _boxed,
    "hashes": after_hashes,
    "whole": str.strip,
}


def _only_number(text: str, *, alone: bool) -> Fraction | None:
    """The one number in a short text; with `alone`, nothing but blanks and a final point may stand around it."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    found = [match.group() for match in NUMBER.finditer(text)]
    if len(found) != 1 or (alone and text.removesuffix(".") != found[0]):
        return None
    number, _, below = found[0].translate(_DROPPED).partition("/")
    return None if below and not int(below) else Fraction(number) / int(below or 1)


_DROPPED = str.maketrans({",": None, "$": None, "\u20ac": None, "\u00a3": None, "\u2212": "-"})


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
