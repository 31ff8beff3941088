"""Answers are compared as data: exact types, a tolerance where a float is expected, in time that grows with length."""

import contextlib
import datetime
import json
import math
import time
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.sandbox.child import values, wire
from groupwise.sandbox.compare import as_json, past, same, same_as_json

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
hashable = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.fractions(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
data = st.recursive(
    scalars | st.dates() | st.timedeltas() | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=12,
)


def sent(value):
    return values.loads(values.dumps(values.encode(value)))


@given(data)
@settings(max_examples=120, deadline=None)
def test_what_is_sent_arrives(value):
    assert same(sent(value), values.encode(value))
    assert same(values.encode(values.decode(sent(value))), values.encode(value), relative=0.0, absolute=0.0)


@given(data, data)
@settings(max_examples=120, deadline=None)
def test_different_text_is_different_data(one, other):
    exact = same(sent(one), values.encode(other), relative=0.0, absolute=0.0)
    back = same(sent(other), values.encode(one), relative=0.0, absolute=0.0)
    if type(one) is type(other) is not float and not isinstance(one, list | tuple | dict | set):
        assert exact == back == (repr(one) == repr(other) or one == other)


@given(st.binary(max_size=60) | st.text(alphabet='[]{},"ldSZtqsabFxr0123456789.-e', max_size=40).map(str.encode))
@settings(max_examples=250, deadline=None)
def test_any_bytes_are_read_or_refused(raw):
    try:
        tokens = values.loads(raw)
        same(tokens, values.encode([{"a": {1, 2}}]))
        values.decode(tokens)
    except values.Malformed:
        pass


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (1, True),
        (True, 1),
        (1.0, 1),
        ("1", 1),
        ((1, 2), [1, 2]),
        ([1, 2], (1, 2)),
        ({1}, frozenset({1})),
        ([1, 2, 3], [1, 2]),
        ([1, 2], [1, 2, 3]),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({1: 0}, {True: 0}),
        ({1, 2}, {1, 3}),
        (b"a", "a"),
        (10**30, 10**30 + 1),
        (math.nan, 0.0),
        (math.inf, 1e308),
        (1.001, 1.0),
        ("1.0", 1.0),
        (object(), None),
        (iter([1]), [1]),
        (Decimal("1.0"), 1.0),
    ],
)
def test_unequal(answer, expected):
    assert not same(sent(answer), values.encode(expected))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (2, 2.0),
        (0.1 + 0.2, 0.3),
        (math.nan, math.nan),
        (-math.inf, -math.inf),
        ([1.0000001, [2.0]], [1.0, [2.0]]),
        ({"x": 3.0000001}, {"x": 3.0}),
        ({3, 1, 2}, {1, 2, 3}),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({frozenset({2, 1}): 1}, {frozenset({1, 2}): 1}),
        (10**30, 10**30),
        (Fraction(1, 3), Fraction(2, 6)),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (namedtuple("Point", "x y")(1, 2), (1, 2)),
        (deque([1]), deque([1])),
        (datetime.date(2020, 1, 2), datetime.date(2020, 1, 2)),
        ("\ud800[{", "\ud800[{"),
    ],
)
def test_equal(answer, expected):
    assert same(sent(answer), values.encode(expected))


def test_nothing_equals_what_is_not_data():
    assert not same(["?T"], ["?T"])
    with pytest.raises(TypeError, match="generator"):
        values.encode([1, (x for x in ())], strict=True)


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000,
        b"[[1]]",
        b'{"a":1}',
        b'[1,{"a":1}]',
        b"[" + b"9" * 5000 + b"]",
        b'["l999999999",1]',
        b'["l-1"]',
        b'["l\xc2\xb2"]',
        b"",
        b"null",
        b"[1",
        b'["Fx"]',
    ],
)
def test_what_no_value_writes_is_refused(raw):
    with pytest.raises(values.Malformed):
        values.decode(values.loads(raw))


@pytest.mark.parametrize("hostile", ["Z1", "t1", "d1", "S1", "a", "l1"])
def test_a_long_hostile_answer_costs_little(hostile):
    tokens = [hostile] * 200_000
    began = time.process_time()
    with pytest.raises(values.Malformed):
        same(["S1", *tokens], values.encode({frozenset({1})}))
    with pytest.raises(values.Malformed):
        values.decode(tokens)
    assert time.process_time() - began < 20, "it grows faster than the answer is long"


def test_colliding_numbers_cost_little():
    """Ints that fall into one place of a hash table: nothing here is hashed."""
    step = (1 << 61) - 1
    numbers = ["S100000", *(place * step % (1 << 62) for place in range(100_000))]
    began = time.process_time()
    assert same(numbers, list(numbers))
    assert time.process_time() - began < 20


def test_self_reference_and_doubling_end(monkeypatch):
    loop = []
    loop.append(loop)
    assert values.encode(loop)[-1] == "?too deep"
    monkeypatch.setattr(values, "MOST", 10_000)
    twice = [0]
    for _ in range(60):
        twice = [twice, twice]
    with pytest.raises(values.TooLarge):
        values.encode(twice)


def test_frames_are_bounded():
    with pytest.raises(wire.Broken):
        wire.split(bytes(4 * 60_000), 10)
    assert wire.split(b"\x02\0\0\0hi\xff\xff\xff\xffcut", 10) == [b"hi"]


jsonable = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text() | st.none() | st.booleans(), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(derandomize=True, deadline=None)
@given(jsonable)
def test_as_json_is_what_a_way_through_json_makes_of_it(value):
    try:
        through = json.loads(json.dumps(value))
    except ValueError:  # an integer of too many digits
        return
    if len(json.dumps(value)) != len(json.dumps(through)):
        return  # two keys of one text: JSON keeps the last
    assert as_json(values.encode(value)) == values.encode(through)
    assert same_as_json(values.encode(value), values.encode(through))


@pytest.mark.parametrize("value", [{1, 2}, b"x", 1 + 2j, Fraction(1, 3), deque([(1,)]), {(1, (2,)): [(3,)]}])
def test_as_json_leaves_whole_what_json_cannot_hold(value):
    tokens = values.encode(value)
    assert past(as_json(tokens), 0) == len(tokens)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.sampled_from(["d2", "t3", "l0", "iff", "s", "c", "a", "r", 5, None, 2.5, "d-1", "t" + "9" * 9, "iz"]))
)
def test_as_json_reads_or_refuses_any_tokens(tokens):
    with contextlib.suppress(values.Malformed, ValueError):
        assert len(as_json(tokens)) == len(tokens)
