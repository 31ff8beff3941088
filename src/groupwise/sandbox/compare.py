"""Whether an answer is the expected value. Both are token lists (`child/values.py`): no foreign object takes part.

Linear in the length of the tokens, but for sets and dicts, whose items are sorted as text first.
"""

import hashlib
import json
import math
from typing import Any

from groupwise.sandbox.child.values import DEPTH, Malformed, Token, count

_FOLLOW = {"c": 2, "F": 2, "r": 3, "x": 3, "a": 1}
_CONTAINERS = "ltSZqd"


def same_as_json(answer: list[Token], expected: list[Token], *, relative: float = 1e-6) -> bool:
    """As `same`, of what both become on a way through JSON."""
    return same(as_json(answer), as_json(expected), relative=relative)


def same(answer: list[Token], expected: list[Token], *, relative: float = 1e-6, absolute: float = 1e-9) -> bool:
    """Equal in type and value. A float (or int) answer may differ a little where a float is expected.

        |answer - expected| <= max(relative * |expected|, absolute),  nan = nan,  inf = inf

    Nothing equals a value that is not plain data. Raises Malformed for tokens that no value has.
    """
    walk = _Walk(answer, expected, relative, absolute)
    if not walk.value(0, 0):
        return False
    if walk.ends != (len(answer), len(expected)):
        raise Malformed("more than one value")
    return True


def as_json(tokens: list[Token]) -> list[Token]:
    """The value as it would be after a way through JSON: a tuple is a list, a number or None as a key is its text."""
    out: list[Token] = []
    open_: list[list[Any]] = []  # of each container around this place: items still to come, and whether it is a dict
    for token in tokens:
        key = bool(open_) and open_[-1][1] and open_[-1][0] % 2 == 0
        if open_:
            open_[-1][0] -= 1
        letter = token[:1] if type(token) is str else ""
        if letter and letter in _CONTAINERS:
            size = count(str(token))
            open_.append([2 * size if letter == "d" else size, letter == "d"])
        elif letter in _FOLLOW:
            open_.append([_FOLLOW[letter], False])
        elif key:
            token = _as_key(token)
        out.append(f"l{token[1:]}" if letter == "t" and type(token) is str else token)
        while open_ and not open_[-1][0]:
            open_.pop()
    return out


def _as_key(token: Token) -> Token:
    if type(token) is str:
        return f"s{int(token[1:], 16)}" if token[:1] == "i" else token
    return f"s{json.dumps(token)}"


class _Walk:
    """Reads both lists side by side; `ends` is where it stands in each."""

    def __init__(self, answer: list[Token], expected: list[Token], relative: float, absolute: float) -> None:
        self.left, self.right = answer, expected
        self.relative, self.absolute = relative, absolute
        self.ends = (0, 0)

    def value(self, here: int, there: int) -> bool:
        """Whether the values that start at these places are the same."""
        pending = 1  # values still to be read in both lists
        while pending:
            pending -= 1
            here, there = self._past_arrays(here, there)
            if here >= len(self.left) or there >= len(self.right):
                raise Malformed("ends too early")
            one, other = self.left[here], self.right[there]
            if type(other) is not str or type(one) is not str:
                if not self._scalar(one, other):
                    return False
            elif other[:1] in "SZd" and other[:1]:
                if one != other or not self._unordered(here, there):
                    return False
                here, there = self.ends
                continue
            elif one != other or other[:1] == "?":
                return False
            else:
                letter = other[:1]
                pending += count(other) if letter in "ltq" else _FOLLOW.get(letter, 0)
            here, there = here + 1, there + 1
        self.ends = (here, there)
        return True

    def _past_arrays(self, here: int, there: int) -> tuple[int, int]:
        """An array is compared as the nested list it holds."""
        while here < len(self.left) and self.left[here] == "a":
            here += 1
        while there < len(self.right) and self.right[there] == "a":
            there += 1
        return here, there

    def _scalar(self, one: Token, other: Token) -> bool:
        if type(other) is float and type(one) in (float, int):
            return self._near(one, other)  # type: ignore[arg-type]
        return type(one) is type(other) and one == other

    def _near(self, one: float, other: float) -> bool:
        if math.isnan(other):
            return one != one
        if one == other:
            return True
        if math.isinf(other) or math.isinf(one):
            return False
        return abs(one - other) <= max(self.relative * abs(other), self.absolute)

    def _unordered(self, here: int, there: int) -> bool:
        """Sets and dicts: items in the order of their text. Keys and members are compared exactly."""
        pairs = self.right[there][:1] == "d"  # type: ignore[index]
        ours, here = _items(self.left, here, 0)
        theirs, there = _items(self.right, there, 0)
        for (key, at), (other_key, other_at) in zip(ours, theirs, strict=True):
            if key != other_key or (pairs and not self.value(at, other_at)):
                return False
        self.ends = (here, there)
        return True


def _items(tokens: list[Token], start: int, depth: int) -> tuple[list[tuple[str, int]], int]:
    """(text of a key or member, place of its value) sorted by text, and where the container ends."""
    head = str(tokens[start])
    out, at = [], start + 1
    for _ in range(count(head)):
        text, end = _canonical(tokens, at, depth)
        out.append((text, end))
        at = past(tokens, end) if head[0] == "d" else end
    out.sort()
    return out, at


def _canonical(tokens: list[Token], start: int, depth: int) -> tuple[str, int]:
    """One short text for equal keys, and where the key ends. Members of a set inside are sorted too."""
    if start >= len(tokens) or depth > DEPTH:
        raise Malformed("ends too early, or too deep")
    head = tokens[start]
    if type(head) is not str or head[:1] not in ("t", "Z"):
        end = past(tokens, start)
        return json.dumps(tokens[start:end]), end
    if head[0] == "Z":
        items, at = _items(tokens, start, depth + 1)
        parts = [text for text, _ in items]
    else:
        parts, at = [], start + 1
        for _ in range(count(head)):
            text, at = _canonical(tokens, at, depth + 1)
            parts.append(text)
    return f"{head} {hashlib.sha256(json.dumps(parts).encode()).hexdigest()}", at


def past(tokens: list[Token], start: int) -> int:
    """The place after the value that starts at `start`. Raises Malformed."""
    pending = 1
    while pending:
        if start >= len(tokens):
            raise Malformed("ends too early")
        token = tokens[start]
        pending -= 1
        start += 1
        if type(token) is str:
            letter = token[:1]
            if letter in _CONTAINERS and letter:
                pending += count(token) * (2 if letter == "d" else 1)
            else:
                pending += _FOLLOW.get(letter, 0)
    return start
