"""ORPO against a slow loop over floats, written from the paper's formula."""

import math
import re
from decimal import Decimal, localcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.orpo import ORPO
from objectives.plain import SEEDS, SIZES, Row, loss_of, mean_over_pairs, nls, push_of, some, stats_of, step


def log_odds(p: float) -> float:
    return p - math.log(1 - math.exp(p))


@some
@given(seed=SEEDS, sizes=SIZES, lam=st.sampled_from([0.0, 0.1, 2.0]), confidence=st.booleans())
def test_against_a_loop(seed, sizes, lam, confidence):
    c = step(seed, sizes, confidence=confidence)

    def cost(a: Row, b: Row) -> float:
        e = 1 - min(a.confidence, b.confidence)
        p, q = sum(a.logp) / a.T, sum(b.logp) / b.T
        m = log_odds(p) - log_odds(q)
        return -(1 - e) * p - e * q + lam * ((1 - e) * nls(m) + e * nls(-m))

    assert loss_of(ORPO(lam=lam), c) == pytest.approx(mean_over_pairs(c, cost), rel=1e-10)


def pair(better: list[float], worse: list[float], dtype: torch.dtype = torch.float64) -> Candidates:
    return Candidates(
        logp=torch.tensor([better, worse], dtype=dtype),
        mask=torch.ones(2, len(better), dtype=torch.bool),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0], dtype=dtype),
    )


def test_by_hand():
    """Probabilities 1/2 and 1/4: odds 1 and 1/3, an odds ratio of 3."""
    c = pair([math.log(0.5)], [math.log(0.25)])
    assert loss_of(ORPO(lam=0.7), c) == pytest.approx(math.log(2) + 0.7 * math.log(1 + 1 / 3))
    assert stats_of(ORPO(lam=0.7), c) == pytest.approx(
        {
            "loss": math.log(2) + 0.7 * math.log(4 / 3),
            "nll": math.log(2),
            "odds_ratio": math.log(4 / 3),
            "margin": math.log(3),
            "accuracy": 1,
        }
    )


def test_the_odds_are_of_the_mean_log_probability():
    assert loss_of(ORPO(), pair([-1.0, -3.0], [-2.0, -2.0])) == pytest.approx(2 + 0.1 * math.log(2))


@pytest.mark.parametrize("p", [-1e-3, -1e-6, -1e-9, -1e-12])
def test_near_certainty_the_odds_are_right_to_60_digits(p):
    with localcontext() as context:
        context.prec = 60
        x = Decimal(p)
        odds = x - (1 - x.exp()).ln()
        expected = float(-x + (1 + (-odds - Decimal(3).ln()).exp()).ln())  # beside a response of odds 1/3
    assert loss_of(ORPO(lam=1.0), pair([p], [math.log(0.25)])) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_certain_response_has_a_finite_loss_and_gradient(dtype):
    for better, worse in (([0.0], [-1.0]), ([-1.0], [0.0]), ([0.0], [0.0])):
        c = pair(better, worse, dtype)
        assert math.isfinite(loss_of(ORPO(), c))
        assert push_of(ORPO(), c).isfinite().all()


def test_needs():
    assert ORPO().needs == Need.NONE


@pytest.mark.parametrize("lam", [-0.1, float("inf")])
def test_settings_out_of_range_are_refused(lam):
    with pytest.raises(ConfigError, match=re.escape(f"orpo.lam = {lam}, must be 0 or more and finite")):
        ORPO(lam=lam)
