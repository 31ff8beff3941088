from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupwise.errors import ConfigError
from groupwise.evaluate.pass_at_k import mean_pass_at_k, pass_at_k


def test_equals_the_share_of_all_subsets_with_a_right_sample():
    for n in range(1, 9):
        for correct in range(n + 1):
            right = [place < correct for place in range(n)]
            for k in range(1, n + 1):
                subsets = list(combinations(right, k))
                assert pass_at_k(n, correct, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


@given(st.integers(1, 3000), st.data())
def test_is_stable_where_factorials_overflow(n, data):
    correct, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    missed = Fraction(1)
    for i in range(min(k, 200)):
        missed *= Fraction(max(n - correct - i, 0), n - i)
    if k <= 200:
        assert pass_at_k(n, correct, k) == pytest.approx(float(1 - missed), rel=1e-14, abs=0)
    assert 0 <= pass_at_k(n, correct, k) <= 1


@given(st.integers(1, 200), st.data())
def test_pass_at_1_is_the_share_of_right_samples(n, data):
    correct = data.draw(st.integers(0, n))
    assert pass_at_k(n, correct, 1) == pytest.approx(correct / n, rel=1e-15)


def test_mean_over_prompts():
    assert mean_pass_at_k([[True, False], [False, False], [True, True]], 1) == pytest.approx(0.5)
    assert mean_pass_at_k([[True, False], [False, False, False, True]], 2) == pytest.approx((1 + 0.5) / 2)


@pytest.mark.parametrize(("n", "correct", "k"), [(4, 1, 5), (4, 1, 0), (4, 5, 1), (4, -1, 1), (0, 0, 1)])
def test_what_is_refused(n, correct, k):
    with pytest.raises(ConfigError):
        pass_at_k(n, correct, k)


def test_nothing_to_average():
    with pytest.raises(ConfigError, match="no prompts"):
        mean_pass_at_k([], 1)
