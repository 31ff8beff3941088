"""What a tree is worth: exactly, as a fraction, or to fifty digits. Every step's size is bounded before it is taken."""

import importlib
import math
import zlib
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from groupwise.rewards.maths.expression import Node, TooLarge, names

BITS = 20_000  # of a whole number, at most: about 6,000 digits
LARGEST_FACTORIAL = 1000
PLACES = 6  # digits after the point that a rounded number must show
_POINTS = 8  # at which expressions with letters are compared


class NoValue(ValueError):  # noqa: N818  # an outcome
    """Not a fraction, or not defined at this point."""


@lru_cache(maxsize=4096)
def exact(tree: Node) -> Fraction | None:
    """The value as a fraction; None if it is none. Raises TooLarge."""
    try:
        return _exact(tree)
    except (NoValue, ZeroDivisionError):
        return None


def _exact(tree: Node) -> Fraction:
    kind = tree[0]
    if kind == "num":
        return _bounded(tree[1])
    if kind == "sym":
        raise NoValue
    if kind == "call":
        return _exact_call(tree[1], _exact(tree[2]))
    values = [_exact(part) for part in tree[1:]]
    if kind == "pow":
        return _power(*values)
    if kind == "fact":
        return Fraction(math.factorial(_small(values[0])))
    if kind == "binom":
        return Fraction(math.comb(_small(values[0]), _small(values[1])))
    if kind == "neg":
        return -values[0]
    if kind == "percent":
        return values[0] / 100
    if kind == "mul":
        return _bounded(values[0] * values[1])
    if kind == "div":
        return _bounded(values[0] / values[1])
    return _bounded(values[0] + values[1])  # add, mixed


def _exact_call(name: str, value: Fraction) -> Fraction:
    if name == "abs":
        return abs(value)
    if name == "floor":
        return Fraction(math.floor(value))
    if name == "ceil":
        return Fraction(math.ceil(value))
    if name == "sqrt" and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    raise NoValue


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if exponent.denominator == 2 and abs(exponent) < 1000:
            return _power(_exact_call("sqrt", base), Fraction(exponent.numerator))
        raise NoValue
    if base in (0, 1, -1):
        return base ** int(exponent % 2 if base else exponent)
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * size > BITS:
        raise TooLarge(f"a power of more than {BITS} bits")
    return base ** int(exponent)


def _small(value: Fraction) -> int:
    if value.denominator != 1 or value < 0:
        raise NoValue
    if value > LARGEST_FACTORIAL:
        raise TooLarge(f"a factorial of more than {LARGEST_FACTORIAL}")
    return int(value)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS:
        raise TooLarge(f"a number of more than {BITS} bits")
    return value


def equal(gold: Node, answer: Node) -> bool:
    """Whether two expressions are worth the same, whatever their letters are worth. Raises TooLarge."""
    if gold == answer:
        return True
    left, right = exact(gold), exact(answer)
    if left is not None and right is not None:
        return left == right or _rounded(gold, right, left) or _rounded(answer, left, right)
    pairs = _pairs(gold, answer)
    if not pairs:
        return False
    if not names(gold) | names(answer) and (_shows(gold) or _shows(answer)):
        (one, other), places = pairs[0], max(_places(gold), _places(answer))
        return bool(abs(one - other) <= 0.5 * 10.0**-places)
    return all(_near(one, other) for one, other in pairs)


def weigh(tree: Node) -> None:
    """Raise TooLarge for a tree whose value cannot be had within the limits."""
    if exact(tree) is None:
        with suppress(NoValue):
            _number(tree, 0)


def proportional(gold: Node, answer: Node) -> bool:
    """Whether one is the other times a number that is not 0: then both are 0 at the same places."""
    pairs = _pairs(gold, answer)
    if len(pairs) < 3 or any(not (_size(one) and _size(other)) for one, other in pairs):
        return bool(pairs) and equal(gold, answer)
    ratio = pairs[0][0] / pairs[0][1]
    return all(_near(one / other, ratio) for one, other in pairs)


def ratio_sign(gold: Node, answer: Node) -> int:
    """The sign of the number that `proportional` speaks of; 0 without one."""
    if not proportional(gold, answer):
        return 0
    one, other = _pairs(gold, answer)[0]
    return 1 if (one / other).real > 0 else -1


def _pairs(gold: Node, answer: Node) -> list[tuple[Any, Any]]:
    """Both values at the points where the right answer has one; empty if there are too few of them."""
    letters = sorted(names(gold) | names(answer))
    pairs = []
    for point in range(_POINTS if letters else 1):
        try:
            one = _number(gold, point)
        except NoValue:
            continue
        if letters and _imaginary(one) and "'i'" not in str(gold):
            continue  # outside of where it is real
        try:
            pairs.append((one, _number(answer, point)))
        except NoValue:
            return []
    return pairs


def _near(one: Any, other: Any) -> bool:
    if one == other:
        return True
    if not (_finite(one) and _finite(other)):
        return False
    return bool(_size(one - other) <= 1e-25 * max(_size(one), _size(other), 1e-3))


def _finite(value: Any) -> bool:
    return bool(_digits().isfinite(value))


def _size(value: Any) -> Any:
    size = abs(value)
    return 0 if size < 1e-40 else size


def _imaginary(value: Any) -> bool:
    return bool(abs(value.imag) > 1e-25 * max(abs(value.real), 1e-3))


def _places(tree: Node) -> int:
    """How many digits a number shows after its point, zeros right behind "0." aside."""
    if tree[0] == "neg":
        return _places(tree[1])
    return int(tree[2]) if tree[0] == "num" else -1


def _shows(tree: Node) -> bool:
    """Whether it is a decimal number with enough digits to be a rounded one."""
    places = _places(tree)
    if places < PLACES:
        return False
    value = abs((tree[1] if tree[0] == "neg" else tree)[1])
    return bool(value >= 1 or value * 10**places >= 10 ** (PLACES - 1))


def _rounded(decimal: Node, value: Fraction, shown: Fraction) -> bool:
    """Whether a decimal number is a fraction without an end, rounded: 0.333333 is 1/3, 0.33 is not."""
    below = value.denominator
    for prime in (2, 5):
        while below % prime == 0:
            below //= prime
    return below > 1 and _shows(decimal) and abs(value - shown) <= Fraction(1, 2 * 10 ** _places(decimal))


@lru_cache(maxsize=1)
def _digits() -> Any:
    """Arithmetic with fifty digits, that of nobody else."""
    mp: Any = importlib.import_module("mpmath").mp.clone()
    mp.dps = 50
    return mp


@lru_cache(maxsize=4096)
def _number(tree: Node, point: int) -> Any:
    mp = _digits()
    try:
        value = mp.convert(_numeric(mp, tree, point))
    except TooLarge:
        raise
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise NoValue(str(error)) from error
    if mp.isnan(value):
        raise NoValue("not a number")
    return value


def _numeric(mp: Any, tree: Node, point: int) -> Any:
    kind = tree[0]
    if kind == "num":
        value = _bounded(tree[1])
        return mp.mpf(value.numerator) / value.denominator
    if kind == "sym":
        return _letter(mp, tree[1], point)
    if kind == "call":
        return _call(mp, tree[1], _numeric(mp, tree[2], point))
    values = [_numeric(mp, part, point) for part in tree[1:]]
    if kind == "pow":
        return _fits(mp, _numeric_power(mp, *values))
    if kind in ("fact", "binom"):
        if any(abs(value) > LARGEST_FACTORIAL for value in values):
            raise TooLarge(f"a factorial of more than {LARGEST_FACTORIAL}")
        return mp.factorial(values[0]) if kind == "fact" else mp.binomial(*values)
    if kind == "neg":
        return -values[0]
    if kind == "percent":
        return values[0] / 100
    if kind == "mul":
        return _fits(mp, values[0] * values[1])
    if kind == "div":
        return _fits(mp, values[0] / values[1])
    return values[0] + values[1]


def _letter(mp: Any, name: str, point: int) -> Any:
    """pi, e, i, infinity; else a number of this letter and point, between 0.3 and 2.3 or, at some points, below 0."""
    if name == "pi":
        return +mp.pi
    if name == "e":
        return +mp.e
    if name == "i":
        return mp.mpc(0, 1)
    if name == "infty":
        return mp.inf
    drawn = mp.mpf(zlib.crc32(f"{name} {point}".encode()) % 1_000_003) / 500_009 + mp.mpf(3) / 10
    return -drawn if point % 3 == 2 else drawn


def _numeric_power(mp: Any, base: Any, exponent: Any) -> Any:
    if mp.isinf(base) or mp.isinf(exponent):
        raise NoValue("a power with infinity")
    if base and abs(exponent) * abs(mp.log(abs(base))) > BITS:
        raise TooLarge(f"a power of more than {BITS} bits")
    return mp.power(base, exponent)


def _fits(mp: Any, value: Any) -> Any:
    if value and not mp.isinf(value) and abs(mp.mag(value)) > 2 * BITS:
        raise TooLarge(f"a number of more than {BITS} bits")
    return value


def _call(mp: Any, name: str, value: Any) -> Any:
    if mp.isinf(value):
        raise NoValue(f"{name} of infinity")
    if value and mp.mag(value) > 1000:
        raise TooLarge(f"{name} of a number beyond 2^1000")
    if name == "exp" and abs(value) > BITS:
        raise TooLarge(f"a power of more than {BITS} bits")
    if name in _NUMERIC:
        return _NUMERIC[name](mp, value)
    if name in ("sinh", "cosh") and abs(value) > BITS:
        raise TooLarge(f"a power of more than {BITS} bits")
    return getattr(mp, name)(value)


_NUMERIC: dict[str, Any] = {
    "arcsin": lambda mp, x: mp.asin(x),
    "arccos": lambda mp, x: mp.acos(x),
    "arctan": lambda mp, x: mp.atan(x),
    "log": lambda mp, x: mp.log(x) / mp.log(10),
    "lg": lambda mp, x: mp.log(x) / mp.log(10),
    "abs": lambda mp, x: abs(x),
    "floor": lambda mp, x: mp.floor(x),
    "ceil": lambda mp, x: mp.ceil(x),
}
