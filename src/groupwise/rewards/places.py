r"""Where in a text a number stands, and how numbers are written: what the rewards of answers share."""

import re
from collections import deque

LONGEST = 1000  # characters of a number that is read; what is longer is no answer, and costs nothing

NUMBER = re.compile(
    r"(?:(?<![\w)])[-+\u2212])?"  # a sign, not the operator of "7-5"
    r"[$\u20ac\u00a3]?"
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+)"
    r"(?:[eE][-+]?[0-9]{1,3}(?![0-9])|/[0-9]+(?![.,]?[0-9]))?"
)


def last_number(text: str) -> str | None:
    """The last number anywhere in a text, as it is written there."""
    last = deque(NUMBER.finditer(text), maxlen=1)
    return last[0].group() if last else None


def after_hashes(text: str) -> str | None:
    """What follows the last ####, to the end of its line."""
    _, found, after = text.rpartition("####")
    return after.partition("\n")[0] if found else None
