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


ratios = st.lists(st.lists(st.floats(-3, 3), min_size=1, max_size=4), min_size=1, max_size=3)


def padded(rows):
    width = max(map(len, rows))
    mask = torch.tensor([[True] * len(row) + [False] * (width - len(row)) for row in rows])
    return torch.tensor([row + [math.nan] * (width - len(row)) for row in rows], dtype=torch.float64), mask


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rows=ratios)
def test_sequence_ratio_is_the_geometric_mean_of_the_tokens_ratios(rows):
    d, mask = padded(rows)
    old = torch.full_like(d, -5.0)
    ours = surrogates.sequence_ratio(old + d, old, mask)
    assert ours.shape == d.shape
    for row, of_tokens in zip(rows, ours.tolist(), strict=True):
        product = math.prod(math.exp(x) for x in row)
        assert of_tokens == pytest.approx([product ** (1 / len(row))] * d.shape[1], rel=1e-9)


def test_sequence_ratio_is_capped_and_finite():
    logp, mask = torch.tensor([[-1.0, -1e9], [-1.0, 1e9], [7.0, 7.0]]), torch.ones(3, 2, dtype=torch.bool)
    mask[2] = False
    ours = surrogates.sequence_ratio(logp, torch.zeros(3, 2), mask)
    assert ours[:, 0].tolist() == pytest.approx([math.exp(-20), math.exp(20), 1])


@pytest.mark.parametrize("move", [-3.0, -0.1, 0.0, 0.3, 2.0])
@pytest.mark.parametrize("w", [-2.0, 0.0, 1.5])
@pytest.mark.parametrize("cap", [1.0, 1.5, 5.0])
def test_capped_keeps_every_tokens_gradient(move, w, cap):
    logp = torch.tensor([[-1.7]], dtype=torch.float64, requires_grad=True)
    term, took = surrogates.capped(logp, logp.detach() - move, torch.tensor([[w]], dtype=torch.float64), cap=cap)
    rho = min(math.exp(move), cap)
    assert term.item() == pytest.approx(rho * w * -1.7)
    assert took.item() == (math.exp(move) > cap)
    (gradient,) = torch.autograd.grad(term.sum(), logp)
    assert gradient.item() == pytest.approx(rho * w)  # none through the ratio
