"""SimPO against a slow loop over floats, written from the paper's formula."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.simpo import SimPO
from objectives.plain import SEEDS, SIZES, Row, loss_of, mean_over_pairs, nls, some, stats_of, step


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    beta=st.sampled_from([0.5, 2.0]),
    gamma=st.sampled_from([0.0, 1.0, 1.6]),
    confidence=st.booleans(),
)
def test_against_a_loop(seed, sizes, beta, gamma, confidence):
    c = step(seed, sizes, confidence=confidence)

    def cost(a: Row, b: Row) -> float:
        e = 1 - min(a.confidence, b.confidence)
        m = beta * (sum(a.logp) / a.T - sum(b.logp) / b.T)
        return (1 - e) * nls(m - gamma) + e * nls(-m - gamma)

    assert loss_of(SimPO(beta=beta, gamma=gamma), c) == pytest.approx(mean_over_pairs(c, cost), rel=1e-12)


def test_by_hand():
    """Mean log-probabilities -1 and -1.5: a margin of 1 at beta 2."""
    c = Candidates(
        logp=torch.tensor([[-0.5, -1.5], [-1.5, 0.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True], [True, False]]),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0]),
    )
    assert loss_of(SimPO(beta=2.0, gamma=0.4), c) == pytest.approx(nls(0.6))
    expected = {"loss": nls(0.6), "margin": 1, "accuracy": 1, "reward_better": -2, "reward_worse": -3}
    assert stats_of(SimPO(beta=2.0, gamma=0.4), c) == pytest.approx(expected)


def test_needs():
    assert SimPO().needs == Need.NONE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": 0.0}, "simpo.beta = 0.0, must be above 0 and finite"),
        ({"gamma": -0.1}, "simpo.gamma = -0.1, must be 0 or more and finite"),
    ],
)
def test_settings_out_of_range_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        SimPO(**fields)
