"""Plain values as one flat list of JSON scalars: nothing nests, so nothing can be too deep to read.

    3           an int (to 63 bits)           "sabc"   a str
    1.5         a float (nan and inf too)     "l2"     a list: two values follow
    true null   bool, None                    "d1"     a dict: key, value follow
    "iff"       a large int, in hex           "?Foo"   something that is not plain data; equals nothing

Only exact builtin types are told apart; an object of a subclass is written as the plain value in it. In the text
"[" stands at the start only and "{" nowhere (strings escape them): a reader refuses everything else unread.
"""

import datetime
import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

Token = None | bool | int | float | str

DEPTH = 200  # levels of containers; what lies deeper is not plain data
MOST = 1 << 21  # tokens of one value: [[x, x], [x, x]] with x of that kind again would double at each level
_SMALL = 1 << 63
_SINGLE: dict[str, Any] = {"l": list, "t": tuple, "S": set, "Z": frozenset, "q": deque}
_LETTER: dict[Any, str] = {kind: letter for letter, kind in _SINGLE.items()}


class TooLarge(ValueError):  # noqa: N818  # says what the value is
    """A value of more than MOST tokens."""


class Malformed(ValueError):  # noqa: N818  # says what the text is
    """The text is not one that `dumps` writes."""


def encode(value: Any, *, strict: bool = False) -> list[Token]:
    """The value's tokens. What is not plain data becomes "?type", or raises TypeError if `strict`.

    Raises TooLarge.
    """
    out: list[Token] = []
    _encode(value, out, 0)
    if strict:
        for token in out:
            if type(token) is str and token[0] == "?":
                raise TypeError(f"{token[1:]} is not plain data")
    return out


def _encode(value: Any, out: list[Token], depth: int) -> None:
    kind = type(value)
    if kind is float or kind is bool or value is None:
        out.append(value)
    elif kind is int:
        out.append(value if -_SMALL <= value < _SMALL else f"i{value:x}")
    elif kind is str:
        out.append("s" + value)
    elif depth >= DEPTH:
        out.append("?too deep")
    elif kind in _LETTER:
        out.append(f"{_LETTER[kind]}{len(value)}")
        if len(out) + len(value) > MOST:
            raise TooLarge(f"more than {MOST} values in one")
        for item in value:
            _encode(item, out, depth + 1)
    elif kind is dict:
        out.append(f"d{len(value)}")
        if len(out) + 2 * len(value) > MOST:
            raise TooLarge(f"more than {MOST} values in one")
        for key, item in value.items():
            _encode(key, out, depth + 1)
            _encode(item, out, depth + 1)
    else:
        _encode_rare(value, out, depth)


def _encode_rare(value: Any, out: list[Token], depth: int) -> None:
    kind = type(value)
    if kind is bytes or kind is bytearray:
        out.append(("b" if kind is bytes else "B") + value.hex())
    elif kind is complex:
        out += ["c", value.real, value.imag]
    elif kind is Decimal:
        out.append(f"D{value}")
    elif kind is Fraction:
        out.append("F")
        _encode(value.numerator, out, depth)
        _encode(value.denominator, out, depth)
    elif kind is range:
        out.append("r")
        for part in (value.start, value.stop, value.step):
            _encode(part, out, depth)
    elif kind is datetime.timedelta:
        out += ["x", value.days, value.seconds, value.microseconds]
    elif kind in (datetime.date, datetime.datetime, datetime.time) and getattr(value, "tzinfo", None) is None:
        out.append(f"T{kind.__name__[:5]} {value.isoformat()}")
    else:
        _encode_flattened(value, out, depth)


def _encode_flattened(value: Any, out: list[Token], depth: int) -> None:
    """A subclass's plain content, numpy's numbers and arrays as Python's; else its type's name."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        out.append("a")
        _encode(value.tolist(), out, depth + 1)
    elif numpy is not None and isinstance(value, numpy.generic):
        plain = value.item()
        if isinstance(plain, numpy.generic):
            out.append(f"?{_name(value)}")
        else:
            _encode(plain, out, depth + 1)
    else:
        for base, plainly in _PLAINLY:
            if isinstance(value, base):
                _encode(plainly(value), out, depth)
                return
        out.append(f"?{_name(value)}")


_PLAINLY: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (deque, lambda value: deque(deque.__iter__(value))),
)


def _name(value: Any) -> str:
    return str(type.__getattribute__(type(value), "__name__"))[:100]


def dumps(tokens: list[Token]) -> bytes:
    """The tokens as text."""
    body = _write(tokens)
    return ("[" + body[1:].replace("[", "\\u005b").replace("{", "\\u007b")).encode()


def loads(data: bytes | bytearray) -> list[Token]:
    """The tokens of a text that anyone may have written. Linear in its length. Raises Malformed."""
    if data[:1] != b"[" or data.count(b"[") != 1 or b"{" in data:
        raise Malformed("not one flat list")
    try:
        tokens: list[Token] = _read(data.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:200]) from None
    return tokens


def _short(text: str) -> int:
    if len(text) > 20:  # long runs of digits cost quadratic time
        raise ValueError("a number of more than 20 characters")
    return int(text)


_write = json.JSONEncoder(separators=(",", ":")).encode
_read = json.JSONDecoder(parse_int=_short).decode


def count(token: str) -> int:
    """The number behind a container's letter."""
    digits = token[1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise Malformed(f"{token[:20]!r} is no length")
    return int(digits)


def decode(tokens: list[Token]) -> Any:
    """The value. Raises Malformed. For a child only: building a set of foreign ints can be made slow."""
    stream = iter(tokens)
    try:
        value = _decode(stream, 0)
    except StopIteration:
        raise Malformed("ends too early") from None
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise Malformed(str(error)[:200]) from None
    if next(stream, stream) is not stream:
        raise Malformed("more than one value")
    return value


def _decode(stream: Iterator[Token], depth: int) -> Any:
    token = next(stream)
    if type(token) is not str:
        return token
    if depth > DEPTH:
        raise Malformed("too deep")
    letter = token[:1]
    if letter == "s":
        return token[1:]
    if letter in _SINGLE:
        return _SINGLE[letter]([_decode(stream, depth + 1) for _ in range(count(token))])
    if letter == "d":
        pairs = [(_decode(stream, depth + 1), _decode(stream, depth + 1)) for _ in range(count(token))]
        return dict(pairs)
    return _decode_rare(token, stream, depth)


def _decode_rare(token: str, stream: Iterator[Token], depth: int) -> Any:
    letter, rest = token[:1], token[1:]
    if letter == "i":
        return int(rest, 16)
    if letter in "bB" and letter:
        return bytes.fromhex(rest) if letter == "b" else bytearray.fromhex(rest)
    if letter == "D":
        return Decimal(rest)
    if letter == "T":
        kind, _, text = rest.partition(" ")
        kinds: dict[str, Any] = {"date": datetime.date, "datet": datetime.datetime, "time": datetime.time}
        return kinds[kind].fromisoformat(text)
    if letter == "a":
        plain = _decode(stream, depth + 1)
        numpy = sys.modules.get("numpy")
        return plain if numpy is None else numpy.array(plain)
    parts = {"c": 2, "F": 2, "r": 3, "x": 3}.get(letter)
    if parts is None:
        raise Malformed(f"unknown token {token[:20]!r}")
    values = [_decode(stream, depth + 1) for _ in range(parts)]
    whole: Any = {"c": complex, "F": Fraction, "r": range, "x": datetime.timedelta}[letter]
    return whole(*values)
