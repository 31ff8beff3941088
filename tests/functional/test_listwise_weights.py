"""Weights that read a ranking or the policy's own scores, against slow loops and against autograd."""

import math
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.functional import weights

NAN = math.nan
scores = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 7.0, NAN]), min_size=1, max_size=6)
steps = st.lists(scores, min_size=1, max_size=4)
seeds = st.integers(0, 2**31)
many = settings(derandomize=True, deadline=None, max_examples=50)


def tensors(step: list[list[float]], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, group ids and strengths; the rows shuffled, so that a group's rows are not neighbours."""
    draw = torch.Generator().manual_seed(seed)
    score = torch.tensor([r for group in step for r in group], dtype=torch.float64)
    group = torch.tensor([900 - 7 * g for g, of_group in enumerate(step) for _ in of_group])
    order = torch.randperm(len(score), generator=draw)
    return score[order], group[order], 2 * torch.randn(len(score), generator=draw, dtype=torch.float64)


def groups_of(score, group, strength) -> list[dict[int, tuple[float, float]]]:
    """For each group, the judged rows: row number to score and strength."""
    rows = list(zip(score.tolist(), group.tolist(), strength.tolist(), strict=True))
    return [
        {i: (r, s) for i, (r, h, s) in enumerate(rows) if h == g and not math.isnan(r)} for g in {g for _, g, _ in rows}
    ]


@many
@given(step=steps, k=st.integers(1, 4), rho=st.sampled_from([0.0, 0.5, 1.0]))
def test_top_k_against_a_loop_over_places(step, k, rho):
    """Places 1 .. k get 1/k, the rest -rho / (K - k); those that tie share what their places get."""
    score, group, strength = tensors(step)
    expected = [0.0] * len(score)
    for rows in groups_of(score, group, strength):
        K, best = len(rows), min(k, len(rows))
        if len({r for r, _ in rows.values()}) < 2:
            continue
        places = [1 / best if place < best else -rho / (K - best) for place in range(K)]
        for i, (r, _) in rows.items():
            first = sum(other > r for other, _ in rows.values())
            ties = sum(other == r for other, _ in rows.values())
            expected[i] = sum(places[first : first + ties]) / ties
    assert weights.top_k(score, group, k=k, rho=rho).tolist() == pytest.approx(expected, abs=1e-15)


def test_top_k_by_hand():
    group = torch.zeros(5, dtype=torch.long)
    score = torch.tensor([3.0, 9.0, 3.0, 1.0, 3.0])
    assert weights.top_k(score, group).tolist() == [0, 1, 0, 0, 0]
    shared = (1 / 2 - 2 / 3) / 3  # three share the second place and two places of the rest
    assert weights.top_k(score, group, k=2, rho=1.0).tolist() == pytest.approx([shared, 0.5, shared, -1 / 3, shared])
    assert weights.top_k(score, group, k=9).tolist() == pytest.approx([0.2] * 5)
    assert weights.top_k(torch.tensor([NAN, 1.0, 0.0]), group[:3], rho=1.0).tolist() == [0, 1, -1]


@many
@given(step=steps, k=st.integers(1, 4))
def test_with_rho_one_the_weights_of_a_group_add_up_to_zero(step, k):
    score, group, strength = tensors(step)
    weight = weights.top_k(score, group, k=k, rho=1.0).tolist()
    for rows in groups_of(score, group, strength):
        if k < len(rows):
            assert sum(weight[i] for i in rows) == pytest.approx(0, abs=1e-12)


@many
@given(step=steps, seed=seeds, beta=st.sampled_from([0.1, 1.0, 3.0]))
def test_pairwise_against_a_loop(step, seed, beta):
    score, group, strength = tensors(step, seed)
    expected = [0.0] * len(score)
    for rows in groups_of(score, group, strength):
        for i, (r, s) in rows.items():
            for j, (q, u) in rows.items():
                if r > q:
                    push = beta / (1 + math.exp(s - u))
                    expected[i] += push
                    expected[j] -= push
    ours = weights.pairwise(score, group, strength, beta=beta)
    assert ours.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-14)


@many
@given(step=steps, seed=seeds)
def test_pairwise_is_the_gradient_of_bradley_terry(step, seed):
    score, group, strength = tensors(step, seed)
    strength.requires_grad_()
    likelihood = sum(
        torch.nn.functional.logsigmoid(strength[i] - strength[j])
        for rows in groups_of(score, group, strength)
        for i, (r, _) in rows.items()
        for j, (q, _) in rows.items()
        if r > q
    )
    (gradient,) = torch.autograd.grad(likelihood + 0 * strength.sum(), strength)
    torch.testing.assert_close(weights.pairwise(score, group, strength), gradient, rtol=1e-12, atol=1e-14)


def likelihood_loop(rows: dict[int, tuple[float, float]], i: int, top: int | None) -> float:
    """S_i - log sum of exp(S_j) over those that are no better; no choice for the worst and past the best `top`."""
    r, s = rows[i]
    above = sum(other > r for other, _ in rows.values())
    if all(other >= r for other, _ in rows.values()) or (top is not None and above >= top):
        return 0.0
    return s - math.log(sum(math.exp(u) for other, u in rows.values() if other <= r))


@many
@given(step=steps, seed=seeds, top=st.sampled_from([None, 1, 2, 9]))
def test_plackett_luce_log_likelihood_against_a_loop(step, seed, top):
    score, group, strength = tensors(step, seed)
    expected = [0.0] * len(score)
    for rows in groups_of(score, group, strength):
        for i in rows:
            expected[i] = likelihood_loop(rows, i, top)
    ours = weights.plackett_luce_log_likelihood(score, group, strength, top=top)
    assert ours.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_the_likelihood_of_a_ranking_is_that_of_drawing_it_one_by_one(order):
    """Brute force: the chance of an order when the next one is drawn with chance exp(S) of those that are left."""
    exp_s, left, chance = [1.0, 4.0, 0.5, 2.5], {0, 1, 2, 3}, 1.0
    for i in order:
        chance *= exp_s[i] / sum(exp_s[j] for j in left)
        left.remove(i)
    score = torch.empty(4, dtype=torch.float64)
    score[list(order)] = torch.tensor([9.0, 5.0, 1.0, -2.0], dtype=torch.float64)
    strength = torch.tensor(exp_s, dtype=torch.float64).log()
    ours = weights.plackett_luce_log_likelihood(score, torch.zeros(4, dtype=torch.long), strength)
    assert ours.sum().exp().item() == pytest.approx(chance, rel=1e-12)


def test_ties_are_breslows():
    """exp(S) = 1, 2, 3, 4; the first two tie for the best: each is chosen from all ten."""
    strength, group = torch.tensor([1.0, 2.0, 3.0, 4.0]).double().log(), torch.zeros(4, dtype=torch.long)
    score = torch.tensor([5.0, 5.0, 1.0, 0.0], dtype=torch.float64)
    ours = weights.plackett_luce_log_likelihood(score, group, strength)
    assert ours.exp().tolist() == pytest.approx([1 / 10, 2 / 10, 3 / 7, 1])
    cut = weights.plackett_luce_log_likelihood(score, group, strength, top=1)
    assert cut.exp().tolist() == pytest.approx([1 / 10, 2 / 10, 1, 1])  # both hold the first place


@many
@given(step=steps, seed=seeds, top=st.sampled_from([None, 1, 2]), beta=st.sampled_from([0.1, 2.0]))
def test_plackett_luce_is_the_gradient_of_its_likelihood(step, seed, top, beta):
    score, group, strength = tensors(step, seed)
    strength.requires_grad_()
    likelihood = weights.plackett_luce_log_likelihood(score, group, strength, top=top).sum()
    (gradient,) = torch.autograd.grad(likelihood, strength)
    ours = weights.plackett_luce(score, group, strength, top=top, beta=beta)
    torch.testing.assert_close(ours, beta * gradient, rtol=1e-12, atol=1e-14)


def test_plackett_luce_stays_finite_far_apart():
    """A candidate e^800 times as likely as another: chances of 0 and 1, and no NaN in a gradient."""
    strength = torch.tensor([0.0, 800.0, -800.0], dtype=torch.float64, requires_grad=True)
    score, group = torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64), torch.zeros(3, dtype=torch.long)
    likelihood = weights.plackett_luce_log_likelihood(score, group, strength)
    assert likelihood.tolist() == [-800, 0, 0]
    (gradient,) = torch.autograd.grad(likelihood.sum(), strength)
    assert gradient.tolist() == weights.plackett_luce(score, group, strength).tolist() == [1, -1, 0]


@many
@given(step=steps, seed=seeds)
def test_listwise_is_the_policys_own_softmax(step, seed):
    score, group, strength = tensors(step, seed)
    expected = [0.0] * len(score)
    for rows in groups_of(score, group, strength):
        for i, (_, s) in rows.items():
            expected[i] = math.exp(s) / sum(math.exp(u) for _, u in rows.values())
    assert weights.listwise(score, group, strength).tolist() == pytest.approx(expected, rel=1e-12)
    other = torch.where(score.isnan(), score, -score)
    assert torch.equal(weights.listwise(other, group, strength), weights.listwise(score, group, strength))


@pytest.mark.parametrize("rule", [weights.pairwise, weights.plackett_luce, weights.listwise])
def test_weights_of_strengths_carry_no_gradient(rule):
    strength = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    assert not rule(torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3, dtype=torch.long), strength).requires_grad


@pytest.mark.parametrize("rule", [weights.pairwise, weights.plackett_luce])
def test_equal_scores_give_exactly_zero(rule):
    for size in range(1, 20):
        score, strength = torch.full((size,), 0.1), torch.randn(size)
        assert rule(score, torch.zeros(size, dtype=torch.long), strength).count_nonzero() == 0
