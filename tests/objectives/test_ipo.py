"""IPO against a slow loop over floats, written from the paper's formula."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.ipo import IPO
from objectives.plain import SEEDS, SIZES, Row, loss_of, mean_over_pairs, some, stats_of, step


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    tau=st.sampled_from([0.05, 0.1, 2.0]),
    length=st.sampled_from(["sum", "mean"]),
    separate=st.booleans(),
    confidence=st.booleans(),
)
def test_against_a_loop(seed, sizes, tau, length, separate, confidence):
    c = step(seed, sizes, confidence=confidence)

    def h(row: Row) -> float:
        return row.h / (row.T if length == "mean" else 1)

    def right(w: float, l: float) -> float:  # noqa: E741  # the paper's letter
        if separate:
            return (w - 1 / (2 * tau)) ** 2 + (l + 1 / (2 * tau)) ** 2
        return (w - l - 1 / (2 * tau)) ** 2

    def cost(a: Row, b: Row) -> float:
        e = 1 - min(a.confidence, b.confidence)
        return (1 - e) * right(h(a), h(b)) + e * right(h(b), h(a))

    objective = IPO(tau=tau, length=length, separate=separate)
    assert loss_of(objective, c) == pytest.approx(mean_over_pairs(c, cost), rel=1e-12)


def pair(**changes) -> Candidates:
    """Chosen: log-ratio 3 over two tokens; rejected: log-ratio -1 over one."""
    fields = {
        "logp": torch.tensor([[-1.0, -1.0], [-3.0, 0.0]], dtype=torch.float64),
        "logp_ref": torch.tensor([[-2.0, -3.0], [-2.0, 0.0]], dtype=torch.float64),
        "mask": torch.tensor([[True, True], [True, False]]),
        "group": torch.zeros(2, dtype=torch.long),
        "score": torch.tensor([1.0, 0.0]),
    }
    return Candidates(**(fields | changes))


def test_by_hand():
    assert loss_of(IPO(tau=0.5), pair()) == pytest.approx((3 - -1 - 1) ** 2)
    assert loss_of(IPO(tau=0.5, length="mean"), pair()) == pytest.approx((1.5 - -1 - 1) ** 2)
    assert loss_of(IPO(tau=0.5, separate=True), pair()) == pytest.approx((3 - 1) ** 2 + (-1 + 1) ** 2)
    stats = {"loss": 9, "margin": 4, "accuracy": 1, "reward_better": 3, "reward_worse": -1}
    assert stats_of(IPO(tau=0.5), pair()) == pytest.approx(stats)


def test_the_loss_is_zero_at_its_target():
    at_target = pair(logp=torch.tensor([[-1.0, -1.5], [-4.5, 0.0]], dtype=torch.float64))  # h = 2.5 and -2.5
    assert loss_of(IPO(tau=0.1), at_target) == 0  # one margin of 5
    assert loss_of(IPO(tau=0.2, separate=True), at_target) == 0  # and two of 2.5


def test_needs():
    assert IPO().needs == Need.REF


@pytest.mark.parametrize("tau", [0.0, -1.0, float("inf")])
def test_settings_out_of_range_are_refused(tau):
    with pytest.raises(ConfigError, match=re.escape(f"ipo.tau = {tau}, must be above 0 and finite")):
        IPO(tau=tau)
