r"""What kind of thing an answer is: a quantity, several, a set, an interval, a matrix, an equation, or words."""

# ruff: noqa: SIM905  # lists of words read better as they are

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from groupwise.rewards.maths.expression import Node, NotRead, TooLarge, read
from groupwise.rewards.maths.surface import CLOSE, OPEN, clean
from groupwise.rewards.maths.units import SIGNS, known

LONGEST = 1000  # characters of an answer that is read; nobody's answer is longer
ITEMS = 100  # of a list or a matrix


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """An expression, perhaps with a unit; `percent` says that a percent sign stood behind it."""

    tree: Node
    unit: str = ""
    percent: bool = False
    measured: Any = None  # another reading, if its letter may be a unit: "5 m"


@dataclass(frozen=True, kw_only=True, slots=True)
class Several:
    """`open` and `close` as written; both empty for a list without brackets, set braces for a set."""

    items: tuple[Any, ...]
    open: str = ""
    close: str = ""

    @property
    def ordered(self) -> bool:
        """Whether what stands first matters."""
        return self.open not in ("", OPEN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """Sets or intervals, joined."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """Rows of forms."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """Sides, and the signs between them: = < > <= >= !=."""

    sides: tuple[Any, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Text that is no mathematics, or none that is read here."""

    text: str


Form = Quantity | Several | Union | Matrix | Relation | Words

_MATRIX = re.compile(
    r"^\\begin\{([pbBv]?)(?:small)?(matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{\1(?:small)?\2\}$", re.DOTALL
)
_SIGN = re.compile(r"<=|>=|!=|\\le(?![a-z])|\\ge(?![a-z])|\\ne(?![a-z])|[=<>]")
_SIGN_NAMES = {"\\le": "<=", "\\ge": ">=", "\\ne": "!="}
_MEMBER = re.compile(r"^[a-zA-Z](?:_\w)?\s*\\in(?![a-z])\s*")
_AND_OR = re.compile(r"\s*,?\s*(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])\s*")
_BETWEEN = re.compile(rf"{_AND_OR.pattern}|;|,(?![0-9]{{3}}(?![0-9]))|(?<![0-9]),")  # not the comma of thousands
_VARIABLE = re.compile(
    r"^\([a-zA-Z](?:\s*,\s*[a-zA-Z])+\)$|^(?:[a-zA-Z]|\\[a-z]+)(?:_\w|_\{\w+\})?'*(?:(?:\s*\^\s*\{\s*-1\s*\})?\s*\(\s*[a-zA-Z](?:\s*,\s*[a-zA-Z])*\s*\))?$"
)
_UNIT = re.compile(
    r"^(?P<value>.*?(?:[0-9.)\]}!]|\\pi))\s*"
    r"(?P<unit>\^\s*\{?\s*\\circ\s*\}?\s*[CFcf]?"
    rf"|[a-zA-Z°{SIGNS}][a-zA-Z°\s/.'-]{{0,60}}(?:\^\s*\{{?[23]\}}?)?(?:\s*/\s*[a-zA-Z]{{1,20}}(?:\^\s*\{{?[23]\}}?)?)?)$"
)
_REPEATING = re.compile(r"([0-9]{1,20})\.([0-9]{0,20})\\(?:overline|bar)\s*\{\s*([0-9]{1,20})\s*\}")
_ORDINAL = re.compile(r"^([0-9]+)\s*(?:\^\s*\{?\s*)?(?:st|nd|rd|th)\s*\}?$")
_PERCENT = re.compile(r"\s*(?:%|percent(?:age)?(?:\s+points?)?|pct)$", re.IGNORECASE)
_LETTER_RUN = re.compile(r"(?<![a-zA-Z\\])[a-zA-Z]{2,}")
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_PLAIN_NAMES = frozenset(
    "sqrt pi sin cos tan cot sec csc ln log exp abs arcsin arccos arctan sinh cosh tanh infty infinity inf "
    "alpha beta gamma theta lambda omega phi".split()
)
_WORDS = frozenset("yes no true false none even odd up down left right on off in out all or and".split())


@lru_cache(maxsize=4096)
def form(text: str) -> Form:
    """The form of a short answer. Raises TooLarge for what is over the limits."""
    if len(text) > LONGEST:
        raise TooLarge(f"an answer of more than {LONGEST} characters")
    cleaned = clean(text)
    depth = deepest = 0
    for sign in cleaned:
        depth += (sign in "([{" + OPEN) - (sign in ")]}" + CLOSE)
        deepest = max(deepest, depth)
    if deepest > 30:
        raise TooLarge("brackets more than 30 deep")
    return _form(cleaned)


def _form(text: str) -> Form:
    text = _MEMBER.sub("", _unwrapped(text.strip()))
    matrix = _MATRIX.match(text)
    if matrix:
        return _matrix(matrix[3])
    if not text or _is_words(text):
        return Words(text=text)
    items = _items(text)
    if len(items) > 1:
        return Several(items=_forms(items))
    signs = _top(text, _SIGN)
    if signs:
        return _relation(text, signs)
    joined = _split(text, re.compile(r"\\cup(?![a-z])|(?<=[)\]])\s*U\s*(?=[(\[])"))
    if len(joined) > 1:
        return Union(parts=_forms(joined))
    both = _plus_minus(text)
    if both:
        return Several(items=_forms(both))
    return _bracketed(text) or _quantity(text)


def _forms(texts: list[str]) -> tuple[Form, ...]:
    if len(texts) > ITEMS:
        raise TooLarge(f"more than {ITEMS} items")
    return tuple(_form(text) for text in texts)


def _unwrapped(text: str) -> str:
    """Without braces around all of it that only group."""
    while (
        text.startswith("{")
        and text.endswith("}")
        and _closing(text, 0) == len(text) - 1
        and not _top(text[1:-1], _COMMA)
    ):
        text = text[1:-1].strip()
    return text


_COMMA = re.compile(r"[,;]")


def _is_words(text: str) -> bool:
    if text.lower() in _WORDS:
        return True
    if text.partition(" ")[0].lower() in _NUMBER_WORDS:
        return False
    runs = _LETTER_RUN.findall(text)
    return any(len(run) > 2 and run.lower() not in _PLAIN_NAMES for run in runs) and not re.search(r"[0-9\\=<>]", text)


def _items(text: str) -> list[str]:
    """Split at the commas, semicolons, `and`, `or` that stand in no bracket."""
    return [part for part in _split(text, _BETWEEN) if part]


def _matrix(inner: str) -> Form:
    rows = [
        row for row in re.split(r"\\\\(?:\[[^\]]*\])?|\\cr(?![a-z])", inner) if row.strip() and row.strip() != "\\hline"
    ]
    cells = [[cell.strip() for cell in row.split("&")] for row in rows]
    if sum(map(len, cells)) > ITEMS:
        raise TooLarge(f"a matrix of more than {ITEMS} entries")
    return Matrix(rows=tuple(_forms(row) for row in cells))


def _relation(text: str, found: list[tuple[int, int]]) -> Form:
    starts = [0, *(end for _, end in found)]
    ends = [*(start for start, _ in found), len(text)]
    sides = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    signs = tuple(_SIGN_NAMES.get(text[start:end], text[start:end]) for start, end in found)
    if not sides[0] and signs == ("=",):  # "= 5"
        return _form(sides[1])
    if set(signs) == {"="} and is_variable(sides[0]):  # f(x) = ..., x = ...
        return Relation(sides=(Words(text="".join(sides[0].split())), *_forms(sides[1:])), signs=signs)
    return Relation(sides=_forms(sides), signs=signs)


def is_variable(text: str) -> bool:
    """Whether a text is a letter, perhaps with an index, or a function's head: x, a_1, f(x)."""
    return bool(_VARIABLE.match(text))


def _plus_minus(text: str) -> list[str]:
    if not re.search(r"\\pm(?![a-z])|\\mp(?![a-z])|\+\s*/\s*-|\+-", text):
        return []
    text = re.sub(r"\+\s*/\s*-|\+-", r"\\pm ", text)
    upper = re.sub(r"\\mp(?![a-z])", "-", re.sub(r"\\pm(?![a-z])", "+", text))
    lower = re.sub(r"\\mp(?![a-z])", "+", re.sub(r"\\pm(?![a-z])", "-", text))
    return [upper, lower]


def _bracketed(text: str) -> Form | None:
    closings = {"(": ")]", "[": ")]", OPEN: CLOSE, "{": "}"}.get(text[0])
    if closings is None or text[-1] not in closings or _closing(text, 0) != len(text) - 1:
        return None
    inner = text[1:-1]
    parts = _split(inner, _COMMA) if inner.strip() else []
    if text[0] in ("{", OPEN):
        return Several(items=_forms([part for part in parts if part]), open=OPEN, close=CLOSE)
    return Several(items=_forms(parts), open=text[0], close=text[-1]) if len(parts) > 1 else None


def _quantity(text: str) -> Form:
    bare = _REPEATING.sub(_repeating, text.replace("\\approx", "").strip())
    sign = re.match(rf"^([-+]?)\s*(Rs\.?|[{SIGNS}])\s*(?=[-0-9.\\])", bare)
    unit = ""
    if sign:
        bare, unit = sign[1] + bare[sign.end() :], sign[2].rstrip(".")
    percent = bool(_PERCENT.search(bare))
    bare = _in_digits(_PERCENT.sub("", bare))
    plain = _tree(bare)
    measured = _UNIT.match(bare)
    tree = _tree(measured["value"]) if measured else None
    if measured is None or tree is None:
        return Words(text=text) if plain is None else Quantity(tree=plain, unit=unit, percent=percent)
    with_unit = Quantity(tree=tree, unit=unit or measured["unit"], percent=percent)
    if plain is None or _names_unit(measured["value"], measured["unit"]):
        return with_unit
    maybe = bare[len(measured["value"])] == " " and known(measured["unit"]) is not None
    return Quantity(tree=plain, unit=unit, percent=percent, measured=with_unit if maybe else None)


def _repeating(match: "re.Match[str]") -> str:
    r"""0.1\\overline{6} as a fraction: (16 - 1) / 90."""
    whole, fixed, again = match.groups()
    below = (10 ** len(again) - 1) * 10 ** len(fixed)
    return f"\\frac{{{int(whole + fixed + again) - int(whole + fixed)}}}{{{below}}}"


def _in_digits(text: str) -> str:
    """A number written as a word, or an ordinal, as a number: three apples, 3rd."""
    first, blank, rest = text.partition(" ")
    if first.lower() in _NUMBER_WORDS:
        return f"{_NUMBER_WORDS[first.lower()]}{blank}{rest}"
    ordinal = _ORDINAL.match(text)
    return ordinal[1] if ordinal else text


def _names_unit(value: str, unit: str) -> bool:
    r"""Whether what can be read as letters multiplied is rather a unit: 5 cm, 30^\circ, 12 km/h; not 5 m or 2 x."""
    if "\\circ" in unit:
        return not re.search(r"sin|cos|tan|cot|sec|csc", value)
    letters = len(re.sub(r"[^a-zA-Z]", "", unit.partition("/")[0]))
    return letters > 2 or (letters == 2 and known(unit) is not None)


def _tree(text: str) -> Node | None:
    try:
        if any(len(run) > 2 and run not in _PLAIN_NAMES for run in _LETTER_RUN.findall(text)):
            return None
        return read(text)
    except NotRead:
        return None


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{" + OPEN) - (text[at] in ")]}" + CLOSE)
        if depth == 0:
            return at
    return -1


def _top(text: str, pattern: "re.Pattern[str]") -> list[tuple[int, int]]:
    """Where a pattern is found outside of all brackets."""
    depths, depth = [], 0
    for sign in text:
        depth += (sign in "([{" + OPEN) - (sign in ")]}" + CLOSE)
        depths.append(depth)
    return [
        match.span() for match in pattern.finditer(text) if depths[match.start()] == 0 and match.end() > match.start()
    ]


def _split(text: str, pattern: "re.Pattern[str]") -> list[str]:
    found = _top(text, pattern)
    starts = [0, *(end for _, end in found)]
    ends = [*(start for start, _ in found), len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
