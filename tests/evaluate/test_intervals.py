import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupwise.errors import ConfigError
from groupwise.evaluate.intervals import (
    Interval,
    clustered_mean,
    paired_difference,
    proportion_difference,
    t_quantile,
    wilson,
)


def near(interval, low, high, within):
    return abs(interval.low - low) < within and abs(interval.high - high) < within


def test_wilson_known_values():
    # Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
    assert near(wilson(81, 263), 0.2553, 0.3662, 5e-5)
    assert near(wilson(15, 148), 0.0624, 0.1605, 5e-5)
    assert near(wilson(0, 20), 0.0, 0.1611, 5e-5)
    assert near(wilson(1, 29), 0.0061, 0.1718, 5e-5)


@given(st.integers(1, 2000), st.data())
def test_wilson_solves_the_score_equation(n, data):
    successes = data.draw(st.integers(0, n))
    got = wilson(successes, n)
    assert 0 <= got.low <= got.value <= got.high <= 1
    z = 1.959963984540054
    for bound in (got.low, got.high):
        if 0 < bound < 1:
            assert abs(got.value - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / n), rel=1e-9)
    mirrored = wilson(n - successes, n)
    assert mirrored.low == pytest.approx(1 - got.high, abs=1e-12)


def test_wilson_covers_on_average_over_proportions():
    n = 25
    intervals = [wilson(k, n) for k in range(n + 1)]
    covered = []
    for p in (place / 200 for place in range(1, 200)):
        chance = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        covered.append(sum(c for c, i in zip(chance, intervals, strict=True) if i.low <= p <= i.high))
    assert 0.945 < sum(covered) / len(covered) < 0.96
    assert min(covered) > 0.82


@pytest.mark.parametrize(
    ("p", "df", "value"),
    [  # printed tables
        (0.975, 1, 12.706205),
        (0.975, 2, 4.302653),
        (0.95, 4, 2.131847),
        (0.975, 5, 2.570582),
        (0.995, 10, 3.169273),
        (0.975, 29, 2.045230),
        (0.975, 120, 1.979930),
        (0.5, 7, 0.0),
    ],
)
def test_t_quantiles(p, df, value):
    assert t_quantile(p, df) == pytest.approx(value, abs=1e-6)


def test_t_of_very_many_is_normal():
    assert t_quantile(0.975, 10**9) == pytest.approx(1.959964, rel=2e-4)


def test_clustered_mean_by_hand():
    got = clustered_mean([[1, 0], [1, 1], [0, 0, 0, 0]])
    half = 4.302652729749 * 0.5 / math.sqrt(3)
    assert got.value == pytest.approx(0.5)
    assert near(got, 0.5 - half, 0.5 + half, 1e-9)


def test_copies_of_a_sample_say_nothing_new():
    scores = [[0.1], [0.9], [0.4], [0.7]]
    copied = [of_prompt * 50 for of_prompt in scores]
    assert clustered_mean(copied).high == pytest.approx(clustered_mean(scores).high)


def test_clustered_mean_covers_where_the_naive_interval_does_not():
    rng = random.Random(0)
    hit = naive = 0
    for _ in range(400):
        prompts = [[ability + rng.gauss(0, 0.1) for _ in range(8)] for ability in (rng.gauss(0, 1) for _ in range(10))]
        got = clustered_mean(prompts)
        hit += got.low <= 0 <= got.high
        flat = clustered_mean([[score] for of_prompt in prompts for score in of_prompt])
        naive += flat.low <= 0 <= flat.high
    assert 0.92 < hit / 400 < 0.98
    assert naive / 400 < 0.75


def test_proportion_difference_known_values():
    # Newcombe, "Interval estimation for the difference between independent proportions" (1998), table II, method 10.
    assert near(proportion_difference((48, 80), (56, 70)), 0.0524, 0.3339, 5e-5)
    assert near(proportion_difference((3, 10), (9, 10)), 0.1705, 0.8090, 5e-5)
    assert near(proportion_difference((0, 20), (10, 10)), 0.6791, 1.0, 5e-5)


def test_proportion_difference_covers():
    n, p, q = 12, 0.3, 0.6
    covered = 0.0
    for a, b in product(range(n + 1), repeat=2):
        got = proportion_difference((a, n), (b, n))
        weight = math.comb(n, a) * p**a * (1 - p) ** (n - a) * math.comb(n, b) * q**b * (1 - q) ** (n - b)
        covered += weight * (got.low <= q - p <= got.high)
    assert 0.93 < covered < 0.98


def test_paired_difference_sees_what_the_unpaired_misses():
    before = [place / 10 for place in range(10)]
    after = [score + 0.05 + 0.01 * (place % 2) for place, score in enumerate(before)]
    got = paired_difference(before, after)
    assert got.value == pytest.approx(0.055)
    assert 0.05 < got.low < got.high < 0.06


def test_confidence_widens():
    assert wilson(3, 10, confidence=0.99).low < wilson(3, 10).low < wilson(3, 10, confidence=0.5).low
    assert isinstance(wilson(3, 10), Interval)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: wilson(1, 0), "1 try at least"),
        (lambda: wilson(3, 2), "0 <= successes <= tries"),
        (lambda: wilson(-1, 2), "0 <= successes <= tries"),
        (lambda: wilson(1, 2, confidence=95), "0.95 is 95 %"),
        (lambda: clustered_mean([]), "needs 2 at least"),
        (lambda: clustered_mean([[1.0]]), "needs 2 at least"),
        (lambda: clustered_mean([[1.0], []]), "prompt 1 has no scores"),
        (lambda: clustered_mean([[1.0], [math.nan]]), "prompt 1 has a score that is not finite"),
        (lambda: paired_difference([1.0], [1.0, 2.0]), "1 prompts before, 2 after"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(ConfigError, match=said):
        call()
