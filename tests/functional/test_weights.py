"""Each weight against a slow loop over floats, written from its formula."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.functional import weights

NAN = math.nan
scores = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 7.0, NAN]), min_size=1, max_size=7)
steps = st.lists(scores, min_size=1, max_size=4)


def judged(group):
    return [r for r in group if not math.isnan(r)]


def std(values, ddof):
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - ddof))


def per_group(rule, step):
    """Weights of a step: `rule(r, scores of its group)`, 0 where unjudged or where all scores are equal."""
    expected = []
    for group in step:
        known = judged(group)
        expected += [0.0 if math.isnan(r) or len(set(known)) < 2 else rule(r, known) for r in group]
    return expected


def rank(r, known):
    return sum(s < r for s in known) + (sum(s == r for s in known) - 1) / 2


def centered(r, known):
    return r - sum(known) / len(known)


def leave_one_out(r, known):
    others = list(known)
    others.remove(r)
    return r - sum(others) / len(others)


def ranked(r, known):
    ranks = [rank(s, known) for s in known]
    return (rank(r, known) - sum(ranks) / len(ranks)) / std(ranks, 0)


def tensors(step):
    """Rows of the groups taken in turn, so that a group's rows are not neighbours."""
    rows = [(k, g) for g, group in enumerate(step) for k in range(len(group))]
    order = sorted(range(len(rows)), key=lambda n: rows[n])
    score = torch.tensor([r for group in step for r in group], dtype=torch.float64)
    group = torch.tensor([17 * (len(step) - g) for _, g in rows])
    return score[order], group[order], order


RULES = {
    "centered": (weights.centered, centered),
    "standardized": (weights.standardized, lambda r, known: centered(r, known) / std(known, 1)),
    "population": (
        lambda score, group: weights.standardized(score, group, ddof=0),
        lambda r, known: centered(r, known) / std(known, 0),
    ),
    "leave_one_out": (weights.leave_one_out, leave_one_out),
    "ranked": (weights.ranked, ranked),
}


@pytest.mark.parametrize("name", RULES)
@settings(derandomize=True, deadline=None, max_examples=60)
@given(step=steps)
def test_against_a_loop(name, step):
    ours, rule = RULES[name]
    score, group, order = tensors(step)
    expected = per_group(rule, step)
    assert ours(score, group).tolist() == pytest.approx([expected[n] for n in order], abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(step=steps, ddof=st.integers(0, 1))
def test_batch_standardized_against_a_loop(step, ddof):
    deviations = [centered(r, judged(group)) for group in step for r in judged(group)]
    score, group, order = tensors(step)
    ours = weights.batch_standardized(score, group, ddof=ddof).tolist()
    expected = per_group(lambda r, known: centered(r, known) / std(deviations, ddof), step)
    assert ours == pytest.approx([expected[n] for n in order], abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(step=steps, temperature=st.sampled_from([0.5, 1.0, 3.0]))
def test_softmax_against_a_loop(step, temperature):
    expected = []
    for group in step:
        total = sum(math.exp(r / temperature) for r in judged(group))
        expected += [0.0 if math.isnan(r) else math.exp(r / temperature) / total for r in group]
    score, group, order = tensors(step)
    ours = weights.softmax(score, group, temperature=temperature).tolist()
    assert ours == pytest.approx([expected[n] for n in order])


def test_softmax_of_large_scores_is_finite():
    score = torch.tensor([1e4, 1e4 - 1, -1e4])
    ours = weights.softmax(score, torch.zeros(3, dtype=torch.long)).tolist()
    assert ours == pytest.approx([1 / (1 + math.exp(-1)), math.exp(-1) / (1 + math.exp(-1)), 0])


def test_by_hand():
    score, group = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64), torch.zeros(4, dtype=torch.long)
    half_over_std = 0.5 / math.sqrt(1 / 3)
    assert weights.centered(score, group).tolist() == [0.5, -0.5, -0.5, 0.5]
    assert weights.standardized(score, group).tolist() == pytest.approx(
        [half_over_std, -half_over_std, -half_over_std, half_over_std]
    )
    assert weights.standardized(score, group, ddof=0).tolist() == [1, -1, -1, 1]
    assert weights.leave_one_out(score, group).tolist() == pytest.approx([2 / 3, -2 / 3, -2 / 3, 2 / 3])
    assert weights.ranked(score, group).tolist() == [1, -1, -1, 1]
    assert weights.standardized(torch.tensor([0.0, 1.0, 2.0]), group[:3]).tolist() == [-1, 0, 1]


def test_tied_ranks_are_averaged():
    score = torch.tensor([5.0, 1.0, 5.0, NAN, 3.0, 5.0, 2.0])
    group = torch.tensor([4, 4, 4, 4, 4, 4, 2])
    ranks = weights.average_rank(score, group).tolist()
    assert ranks[:3] + ranks[4:] == [3, 0, 3, 1, 3, 0]
    assert math.isnan(ranks[3])


@pytest.mark.parametrize("rule", ["centered", "standardized", "batch_standardized", "leave_one_out", "ranked"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_equal_scores_give_exactly_zero_for_every_size(rule, dtype):
    """The mean of equal scores is off by a rounding for some K; a weight of size one must not come of it."""
    for size in range(1, 65):
        for value in (0.1, 1 / 3, -0.7, 1e-8, 12345.678):
            score = torch.full((size,), value, dtype=dtype)
            assert getattr(weights, rule)(score, torch.zeros(size, dtype=torch.long)).count_nonzero() == 0


def test_scores_that_differ_by_rounding_stay_small():
    score = torch.tensor([0.1 + 0.2, 0.3, 0.3, 0.3], dtype=torch.float64)
    assert weights.standardized(score, torch.zeros(4, dtype=torch.long)).abs().max() < 1e-9


def test_leave_one_out_is_centered_times_k_over_k_minus_one():
    score, group = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0]), torch.zeros(5, dtype=torch.long)
    torch.testing.assert_close(weights.leave_one_out(score, group), weights.centered(score, group) * 5 / 4)


@pytest.mark.parametrize(
    "rule", ["centered", "standardized", "batch_standardized", "leave_one_out", "ranked", "softmax"]
)
def test_weights_carry_no_gradient(rule):
    score = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    assert not getattr(weights, rule)(score, torch.zeros(3, dtype=torch.long)).requires_grad
