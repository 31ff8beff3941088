import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.functional import surrogates


def clipped_loop(logp, old, w, low, high, dual):
    rho = math.exp(max(-20.0, min(20.0, logp - old)))
    free, bound = rho * w, max(1 - low, min(rho, 1 + high)) * w
    term = min(free, bound)
    if dual is not None and w < 0:
        return max(term, dual * w), bound < free or dual * w > term
    return term, bound < free


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    logp=st.floats(-8, 0),
    move=st.floats(-3, 3),
    w=st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]),
    low=st.sampled_from([0.0, 0.2, 1.0]),
    high=st.sampled_from([0.0, 0.28, 4.0]),
    dual=st.sampled_from([None, 3.0]),
)
def test_clipped_against_a_loop(logp, move, w, low, high, dual):
    tensor = torch.tensor([[logp]], dtype=torch.float64)
    term, took = surrogates.clipped(tensor, tensor - move, torch.tensor([[w]]).double(), low=low, high=high, dual=dual)
    expected, clipped = clipped_loop(logp, logp - move, w, low, high, dual)
    assert term.item() == pytest.approx(expected, rel=1e-12)
    assert took.item() == clipped or abs(move) < 1e-12


@pytest.mark.parametrize(
    ("ratio", "weight", "gradient"),
    [
        (1.0, 2.0, 2.0),  # at the start: the policy gradient
        (1.1, 2.0, 2.2),
        (1.5, 2.0, 0.0),  # good and already far up
        (0.5, 2.0, 1.0),  # good and down: still pushed up
        (0.5, -2.0, 0.0),  # bad and already far down
        (1.5, -2.0, -3.0),  # bad and up: still pushed down
    ],
)
def test_where_the_clip_takes_the_gradient(ratio, weight, gradient):
    logp = torch.tensor([[math.log(0.3)]], dtype=torch.float64, requires_grad=True)
    anchor = logp.detach() - math.log(ratio)
    term, took = surrogates.clipped(logp, anchor, torch.tensor([[weight]], dtype=torch.float64))
    term.sum().backward()
    assert logp.grad.item() == pytest.approx(gradient)
    assert took.item() == (gradient == 0)


def test_a_clip_without_bounds_is_importance_sampling():
    draw = torch.Generator().manual_seed(0)
    logp, old, w = (torch.randn(3, 4, generator=draw, dtype=torch.float64) for _ in range(3))
    term, took = surrogates.clipped(logp, old, w, low=1.0, high=math.inf)
    torch.testing.assert_close(term, torch.exp(logp - old) * w)
    assert not took.any()


def test_the_ratio_is_capped_and_finite():
    logp, anchor = torch.tensor([0.0, -1e4, -1.0]), torch.tensor([-1e4, 0.0, -1.5])
    assert surrogates.ratio(logp, anchor).tolist() == pytest.approx([math.exp(20), math.exp(-20), math.exp(0.5)])


def test_log_prob_is_the_weight_times_logp():
    logp = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    assert surrogates.log_prob(logp, torch.tensor([[2.0], [-1.0]])).tolist() == [[-2, -4], [3, 4]]
