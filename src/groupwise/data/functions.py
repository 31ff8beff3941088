"""Short functions to write: filters, maps and summaries of lists and strings, put together, with tests.

A problem is a choice of one operation of each kind. Its tests are worked out here from the operations themselves, not
from the text of the solution that demonstrates them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

Value = Any
TESTS = 8  # calls of a function that judge it
SHOWN = 2  # of other calls that the prompt shows


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: what it is called, how it is written, and what it does."""

    text: str  # with {x} for what it is done to
    code: str  # likewise
    do: Callable[[Any], Value]


def _kept(text: str, code: str, keep: Callable[[Any], bool]) -> Step:
    return Step(text, code, keep)


NUMBERS: Mapping[str, Sequence[Step]] = {
    "filter": [
        _kept("", "", lambda x: True),
        _kept("even ", "x % 2 == 0", lambda x: x % 2 == 0),
        _kept("odd ", "x % 2 == 1", lambda x: x % 2 == 1),
        _kept("positive ", "x > 0", lambda x: x > 0),
        _kept("negative ", "x < 0", lambda x: x < 0),
        _kept("non-zero ", "x != 0", lambda x: x != 0),
        *[_kept(f"greater-than-{n} ", f"x > {n}", lambda x, n=n: x > n) for n in (2, 5, 10)],  # type: ignore[misc]
        *[_kept(f"divisible-by-{n} ", f"x % {n} == 0", lambda x, n=n: x % n == 0) for n in (3, 5)],  # type: ignore[misc]
    ],
    "map": [
        Step("{x}", "x", lambda x: x),
        Step("squares of the {x}", "x * x", lambda x: x * x),
        Step("absolute values of the {x}", "abs(x)", abs),
        Step("negated {x}", "-x", lambda x: -x),
        Step("doubled {x}", "x * 2", lambda x: x * 2),
        *[Step(f"{{x}} plus {n}", f"x + {n}", lambda x, n=n: x + n) for n in (1, 3, 10)],  # type: ignore[misc]
    ],
    "summary": [
        Step("the list of the {x}", "[{x}]", list),
        Step("the sum of the {x}", "sum({x})", sum),
        Step("the number of the {x}", "len([{x}])", len),
        Step("the sorted list of the {x}", "sorted({x})", sorted),
        Step("the set of the {x} as a sorted list", "sorted(set({x}))", lambda xs: sorted({*xs})),
        Step("the largest of the {x}, or 0 if there are none", "max(({x}), default=0)", lambda xs: max(xs, default=0)),
        Step("the smallest of the {x}, or 0 if there are none", "min(({x}), default=0)", lambda xs: min(xs, default=0)),
        Step("the reversed list of the {x}", "[{x}][::-1]", lambda xs: list(xs)[::-1]),
    ],
}
STRINGS: Mapping[str, Sequence[Step]] = {
    "filter": [
        _kept("characters", "", lambda c: True),
        _kept("vowels", 'c in "aeiou"', lambda c: c in "aeiou"),
        _kept("characters that are not vowels", 'c not in "aeiou"', lambda c: c not in "aeiou"),
        _kept("digits", "c.isdigit()", str.isdigit),
        _kept("letters", "c.isalpha()", str.isalpha),
        _kept("characters that are not spaces", 'c != " "', lambda c: c != " "),
        *[_kept(f"characters before '{z}'", f"c < '{z}'", lambda c, z=z: c < z) for z in "mst"],  # type: ignore[misc]
    ],
    "map": [
        Step("{x}", "c", lambda c: c),
        Step("upper-cased {x}", "c.upper()", str.upper),
        Step("doubled {x}", "c * 2", lambda c: c * 2),
        *[Step(f"{{x}}, each followed by '{z}',", f"c + '{z}'", lambda c, z=z: c + z) for z in ".-"],  # type: ignore[misc]
    ],
    "summary": [
        Step("the string of the {x}", '"".join({x})', "".join),
        Step("the number of the {x}", "len([{x}])", len),
        Step("the list of the {x}", "[{x}]", list),
        Step("the sorted list of the {x}", "sorted({x})", sorted),
        Step("the string of the {x} in reverse order", '"".join([{x}][::-1])', lambda xs: "".join([*xs][::-1])),
        Step("the {x} joined by commas", '",".join({x})', ",".join),
    ],
}
Problem = tuple[str, int, int, int]  # family, and the number of each operation


def problems(level: int) -> Iterator[Problem]:
    """All problems of up to this many operations that do something."""
    for family, steps in (("numbers", NUMBERS), ("strings", STRINGS)):
        sizes = [range(len(steps[kind])) for kind in ("filter", "map", "summary")]
        for filtered, mapped, summed in product(*sizes):
            operations = (filtered > 0) + (mapped > 0) + 1
            if operations <= level:
                yield family, filtered, mapped, summed


def function_row(problem: Problem, seed: int) -> dict[str, Any]:
    """The problem as a row: `prompt`, `entry`, `inputs`, `expected`, and the `solution` that demonstrates it."""
    family, *numbers = problem
    numeric = family == "numbers"
    steps = NUMBERS if numeric else STRINGS
    keep, change, end = (steps[kind][i] for kind, i in zip(("filter", "map", "summary"), numbers, strict=True))
    name, each = ("xs", "x") if numeric else ("s", "c")
    random = Random(f"{seed}:{problem}")
    inputs = [_input(random, numeric, i) for i in range(TESTS + SHOWN)]
    expected = [end.do([change.do(value) for value in given if keep.do(value)]) for given in inputs]
    plural = f"{keep.text}numbers" if numeric else keep.text
    what = end.text.format(x=change.text.format(x=plural))
    shown = "".join(f"\nf({given!r}) == {want!r}" for given, want in zip(inputs[:SHOWN], expected, strict=False))
    kind = "list of integers" if numeric else "string"
    generator = f"{change.code} for {each} in {name}" + (f" if {keep.code}" if keep.code else "")
    body = end.code.format(x=generator)
    return {
        "prompt": f"Write a Python function f({name}) that takes a {kind} {name} and returns {what}.{shown}",
        "entry": "f",
        "inputs": [[given] for given in inputs[SHOWN:]],
        "expected": expected[SHOWN:],
        "solution": f"def f({name}):\n    return {body}",
    }


def _input(random: Random, numeric: bool, place: int) -> Any:
    """The last of them is empty."""
    size = 0 if place == TESTS + SHOWN - 1 else random.randint(3, 8)
    if numeric:
        return [random.randint(-12, 20) for _ in range(size)]
    return "".join(random.choice("abcdeiopqrstuxyz  0159") for _ in range(size))
