r"""Which calculations in a text hold: a reward for each step of an answer.

Read are equalities of plain arithmetic: `48 / 2 = 24`, `3 \times 4 = 12`, `$5 + $3 = $8`, and `<<48/2=24>>` as in
GSM8K. Letters are not: a side that touches one is no calculation.
"""

import re
from fractions import Fraction
from itertools import pairwise

from groupwise.rewards.maths.expression import NotRead, TooLarge, read
from groupwise.rewards.maths.surface import plain_signs
from groupwise.rewards.maths.value import exact

LONGEST = 400  # characters of a calculation that is checked; a longer one is passed over

_STEP_END = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z\\$<])")
_MARKED = re.compile(r"<<([^<>]{1,400})>>")
_FRACTION = r"\\[dt]?frac\s?\{[0-9., +*/()-]{1,60}\}\s?\{[0-9., +*/()-]{1,60}\}"
_RUN = re.compile(
    rf"(?:{_FRACTION}|\\(?:times|cdot|div)\s?|\\\$|\\%|(?<=[0-9)\s])x(?=[\s0-9(])|[0-9.,$€£%+*/^()=\s-])+"
)
_OPERATION = re.compile(r"[0-9)%]\s*(?:[-+*/^x]|\\times|\\cdot|\\div)|\\frac")
_APART = re.compile(r"(?<=[,;.])(?=\s)")  # 5 - 3 = 2, 2 + 2 = 4
_GOES_ON = re.compile(r"[a-zA-Z\\_{}!]")
_CONTINUES = re.compile(r"\s*(?:[+*/^]|-\s)")
_DROPPED = re.compile(r"\\?\$|€|£")


def checked_steps(text: str, score: float) -> list[tuple[int, float]]:
    """[(where a step ends, its reward), ...]: 1 for a step whose calculations all hold, 0 else, and `score` at the end.

    A step without a calculation belongs to the next one that has one.
    """
    steps: list[tuple[int, float]] = []
    start = 0
    for end in [*(match.end() for match in _STEP_END.finditer(text)), len(text)]:
        held = calculations(text[start:end])
        if held and end < len(text):
            steps.append((end, float(all(held))))
        start = end
    return [*steps, (max(len(text), 1), score)]  # an empty text too has a step to learn from


def calculations(text: str) -> list[bool]:
    """Whether each calculation in a text holds, in order."""
    held = []
    text = plain_signs(text)
    for marked in _MARKED.findall(text):
        held += _equalities(marked)
    text = _MARKED.sub(" ", text)
    for match in _RUN.finditer(text):
        start = match.start()
        for part in _APART.split(match.group()):
            end = start + len(part)
            held += _equalities(
                part, before=text[:start].rstrip()[-1:], touched=(text[start - 1 : start], text[end : end + 1])
            )
            start = end
    return held


def _equalities(run: str, *, before: str = "", touched: tuple[str, str] = ("", "")) -> list[bool]:
    """Each `left = right` in a run of signs, from the first with an operation on.

    `before` is the last sign before the run, `touched` are the signs right before and behind it: a first or last side
    that goes on in letters is none of a calculation.
    """
    if "=" not in run or len(run) > LONGEST:
        return []
    sides: list[str | None] = list(run.split("="))
    first, last = sides[0] or "", sides[-1] or ""
    if _GOES_ON.match(touched[0]) and not first[:1].isspace():
        sides[0] = None
    if _CONTINUES.match(first) and (before.isalnum() or before in ")}"):
        sides[0] = None
    if _GOES_ON.match(touched[1]) and not last[-1:].isspace():
        sides[-1] = None
    held = []
    calculated = False
    for left, right in pairwise(sides):
        calculated |= any(side and _OPERATION.search(side) for side in (left, right))
        if left is None or right is None or not calculated:
            continue
        one, other = _worth(left), _worth(right)
        if one is not None and other is not None:
            held.append(one[0] == other[0] or _is_rounded(one[0], other))
    return held


def _worth(side: str) -> tuple[Fraction, int] | None:
    """A side's value, and how many places it shows if it is a decimal number."""
    side = _DROPPED.sub("", side).replace("x", "*").replace("\\%", "%").strip().rstrip(".,")
    try:
        tree = read(side)
        value = exact(tree)
    except (NotRead, TooLarge):
        return None
    return None if value is None else (value, tree[2] if tree[0] == "num" else -1)


def _is_rounded(value: Fraction, shown: tuple[Fraction, int]) -> bool:
    """Whether what is shown with a point is the value rounded to as many places: 20/3 = 6.67."""
    return shown[1] > 0 and abs(value - shown[0]) <= Fraction(1, 2 * 10 ** shown[1])
