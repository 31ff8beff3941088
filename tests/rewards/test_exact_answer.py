from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.exact_answer import ExactAnswer


def score(text, answer, extract="last_number"):
    return ExactAnswer(extract=extract)({"answer": answer}, text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("19", "19"),
        ("12 + 7 = 19.", 19),
        ("First 12, then 7, so it is 19", "19"),
        ("That is 1,234,567 people", "1234567"),
        ("It costs $7.50.", 7.5),
        ("-$5", "-5"),
        ("3 - 8 = -5", "-5"),
        ("3 \u2212 8 = \u22125", "-5"),
        ("7-5", 5),
        ("(3)-2", 2),
        ("one half is 1/2", "0.5"),
        ("5e-1", "0.50"),
        ("-0", "0"),
        ("007", "7"),
        ("about 50%", "50"),
        ("19 apples", "#### 19"),
        ("72", "She sold 48/2 = 24 clips.\n#### 72"),
        ("1,2,3", "3"),
        ("x = .5", ".5"),
        ("since 1/2/2020", "2020"),
    ],
)
def test_right(text, answer):
    assert score(text, answer) == 1.0


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "19"),
        ("nineteen", "19"),
        ("19 or 20", "19"),
        ("190", "19"),
        ("1.9", "19"),
        ("-19", "19"),
        ("0.333", "1/3"),
        ("2*3", "6"),
        ("__import__('os').getpid()", "6"),
        ("1/0", "0"),
        ("12,34", "1234"),
    ],
)
def test_wrong(text, answer):
    assert score(text, answer) == 0.0


@pytest.mark.parametrize(
    ("extract", "text", "expected"),
    [
        ("boxed", r"so \boxed{19} in all, of 20", 1.0),
        ("boxed", r"\boxed{3}, no: \boxed{19 \text{ cm}}", 1.0),
        ("boxed", r"\boxed{\frac{38}{2}}", 1.0),
        ("boxed", r"\boxed{12 + 7}", 0.0),
        ("boxed", r"\boxed{19", 0.0),
        ("boxed", "19", 0.0),
        ("hashes", "12 + 7\n#### 19\nand 3 more", 1.0),
        ("hashes", "#### 18 #### 19 apples", 1.0),
        ("hashes", "#### 19 or 20", 0.0),
        ("hashes", "19", 0.0),
        ("whole", " 19.\n", 1.0),
        ("whole", "+19.0", 1.0),
        ("whole", "It is 19", 0.0),
        ("whole", "19 apples", 0.0),
        ("whole", "12 + 7 = 19", 0.0),
    ],
)
def test_places(extract, text, expected):
    assert score(text, "19", extract) == expected


@given(st.fractions(), st.integers(-(10**20), 10**20))
def test_numbers_are_compared_exactly(value: Fraction, other: int):
    assert score(f"so {value}", str(value)) == 1.0
    assert score(f"{other:,}", other) == 1.0
    assert score(f"{other}", other + 1) == 0.0
    assert score(f"{value + Fraction(1, 10**30)}", str(value)) == 0.0


@given(st.text())
def test_no_text_raises(text: str):
    for extract in ("last_number", "boxed", "hashes", "whole"):
        assert score(text, "123456789", extract) in (0.0, 1.0)


@pytest.mark.parametrize(
    "huge", ["9" * 2_000_000, "1e999999999", "9^9^9^9", "1," * 500_000, "111," * 500_000 + "1", "\\boxed{" * 200_000]
)
def test_huge_numbers_are_wrong_and_never_computed(huge):
    for extract in ("last_number", "boxed", "hashes", "whole"):
        assert score(huge, "19", extract) == 0.0


def test_an_answer_in_words():
    assert score(" Yes\n", "yes", "whole") == 1.0
    assert score("#### New  York", "new york", "hashes") == 1.0
    assert score("no", "yes", "whole") == 0.0
    with pytest.raises(RewardError, match="which is none"):
        score("yes", "yes")


def test_a_row_without_an_answer():
    with pytest.raises(RewardError, match="The row has: prompt, solution"):
        ExactAnswer()({"prompt": "1+1=", "solution": "2"}, "2")
    with pytest.raises(RewardError, match="must hold the right answer"):
        score("2", " ")
    assert ExactAnswer(answer_column="solution")({"solution": "2"}, "2") == 1.0


def test_an_unknown_place():
    with pytest.raises(ConfigError, match="last_number, boxed, hashes, whole"):
        ExactAnswer(extract="first_number")
