import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.functional.returns import at_last_token, from_steps, gae, whiten


def gae_closed_form(reward, value, gamma, lam):
    """A_t = sum_k (gamma lam)^k delta_{t+k}, written out; V after the last token is 0."""
    after = [*value, 0.0][1:]
    delta = [r + gamma * n - v for r, v, n in zip(reward, value, after, strict=True)]
    return [sum((gamma * lam) ** k * d for k, d in enumerate(delta[t:])) for t in range(len(delta))]


def test_the_score_stands_on_the_last_counted_token():
    mask = torch.tensor([[True, True, False], [False, True, True], [True, False, False], [False, False, False]])
    placed = at_last_token(torch.tensor([1.0, 2.0, 3.0, 4.0]), mask)
    assert placed.tolist() == [[0, 1, 0], [0, 0, 2], [3, 0, 0], [0, 0, 0]]


def test_gae_by_hand():
    reward, value = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.25, 0.75]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    advantage, target = gae(reward, value, mask, gamma=1.0, lam=0.5)
    # deltas -0.25, 0.5, 0.25; A_2 = .25, A_1 = .5 + .125, A_0 = -.25 + .3125
    assert advantage.tolist() == [[0.0625, 0.625, 0.25]]
    assert target.tolist() == [[0.5625, 0.875, 1.0]]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**31), gamma=st.sampled_from([1.0, 0.9]), lam=st.sampled_from([0.0, 0.95, 1.0]))
def test_gae_against_the_closed_form_with_holes_in_the_mask(seed, gamma, lam):
    draw = torch.Generator().manual_seed(seed)
    mask = torch.rand(4, 6, generator=draw) < 0.6
    reward, value = (torch.randn(4, 6, generator=draw, dtype=torch.float64) for _ in range(2))
    dirty = [torch.where(mask, tensor, torch.nan) for tensor in (reward, value)]
    advantage, target = gae(*dirty, mask, gamma=gamma, lam=lam)
    assert advantage[~mask].count_nonzero() == target[~mask].count_nonzero() == 0
    for n in range(4):
        expected = gae_closed_form(reward[n][mask[n]].tolist(), value[n][mask[n]].tolist(), gamma, lam)
        assert advantage[n][mask[n]].tolist() == pytest.approx(expected)
        assert target[n][mask[n]].tolist() == pytest.approx((advantage + value)[n][mask[n]].tolist())


def test_lambda_one_is_the_return_minus_the_value():
    reward, value = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[0.5, 0.5, 0.5]])
    advantage, target = gae(reward, value, torch.ones(1, 3, dtype=torch.bool), lam=1.0)
    assert advantage.tolist() == [[6.5, 5.5, 3.5]]
    assert target.tolist() == [[7, 6, 4]]
    assert math.isclose(target[0, 0], reward.sum())


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**31), shape=st.sampled_from([(1, 1), (1, 3), (4, 5)]))
def test_whiten_against_a_loop(seed, shape):
    draw = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=draw) < 0.6
    value = torch.randn(shape, generator=draw, dtype=torch.float64)
    ours = whiten(torch.where(mask, value, torch.nan), mask)
    counted = value[mask].tolist()
    assert ours[~mask].count_nonzero() == 0
    if len(counted) < 2:  # nothing to compare with
        assert ours.nan_to_num(nan=0.0).count_nonzero() == 0
        return
    mean = sum(counted) / len(counted)
    std = math.sqrt(sum((v - mean) ** 2 for v in counted) / (len(counted) - 1))
    assert ours[mask].tolist() == pytest.approx([(v - mean) / std for v in counted], abs=1e-12)


def test_whiten_by_hand():
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert whiten(torch.tensor([[1.0, 2.0, 99.0], [3.0, 99.0, 99.0]]), mask).tolist() == [[-1, 0, 0], [1, 0, 0]]
    tiny = torch.tensor([[1.0, 1.0 + 2**-40]], dtype=torch.float64)  # the floor keeps rounding noise small
    assert whiten(tiny, torch.ones(1, 2, dtype=torch.bool)).abs().max() < 1e-5


def test_a_token_has_the_weights_of_the_steps_that_end_at_it_or_after_it():
    steps = torch.tensor([[0.0, 1.0, 0.0, 10.0, 0.0], [2.0, 0.0, 0.0, 0.0, -5.0]])
    assert from_steps(steps).tolist() == [[11, 11, 10, 10, 0], [-3, -5, -5, -5, -5]]
