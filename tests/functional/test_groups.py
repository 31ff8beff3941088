import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.functional import groups

NAN = math.nan
SCORE = torch.tensor([1.0, 5.0, 2.0, NAN, 6.0, NAN], dtype=torch.float64)
GROUP = torch.tensor([7, 40, 7, 7, 40, 9])  # not neighbours, not contiguous; 9 holds an unjudged row only
rows = st.lists(st.tuples(st.sampled_from([0, 3, 900]), st.sampled_from([0.0, 0.5, 1.0, 2.0, NAN])), max_size=12)


def tensors(rows):
    return torch.tensor([s for _, s in rows], dtype=torch.float64), torch.tensor([g for g, _ in rows], dtype=torch.long)


def test_group_index_renumbers_in_order_of_id():
    index, count = groups.group_index(GROUP)
    assert index.tolist() == [0, 2, 0, 0, 2, 1]
    assert count == 3


def test_sums_and_means_by_hand():
    assert groups.group_sum(torch.arange(6.0), GROUP).tolist() == [5, 5, 5, 5, 5, 5]
    assert groups.group_size(SCORE, GROUP).tolist() == [2, 2, 2, 2, 2, 0]
    assert groups.group_mean(SCORE, GROUP).tolist() == [1.5, 5.5, 1.5, 1.5, 5.5, 0]
    assert groups.group_max(SCORE, GROUP).tolist() == [2, 6, 2, 2, 6, -math.inf]


def test_the_largest_may_be_infinite():
    value = torch.tensor([math.inf, 1.0, -math.inf, NAN, -math.inf])
    assert groups.group_max(value, torch.tensor([0, 0, 1, 1, 1])).tolist() == [math.inf] * 2 + [-math.inf] * 3


def test_std_by_hand():
    score, group = torch.tensor([2.0, 4.0, 4.0, 6.0, 9.0]), torch.tensor([1, 1, 1, 1, 2])
    sample, population = math.sqrt(8 / 3), math.sqrt(2)
    assert groups.group_std(score, group).tolist() == pytest.approx([sample] * 4 + [0])
    assert groups.group_std(score, group, ddof=0).tolist() == pytest.approx([population] * 4 + [0])


def test_signal_is_by_equality():
    score = torch.tensor([0.1, 0.1, 0.1, math.nextafter(0.1, 1), 3.0, NAN, NAN], dtype=torch.float64)
    group = torch.tensor([0, 0, 1, 1, 2, 2, 3])
    assert groups.has_signal(score, group).tolist() == [False, False, True, True, False, False, False]


def test_best_of_group_may_tie():
    score = torch.tensor([1.0, 3.0, 3.0, NAN, 0.0])
    assert groups.best_of_group(score, torch.tensor([0, 0, 0, 0, 1])).tolist() == [False, True, True, False, True]


def test_pairs_by_hand():
    better, worse = groups.pairs(SCORE, GROUP)
    assert set(zip(better.tolist(), worse.tolist(), strict=True)) == {(2, 0), (4, 1)}


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rows=rows)
def test_pairs_are_all_strictly_ordered_pairs_of_a_group(rows):
    better, worse = groups.pairs(*tensors(rows))
    expected = [(i, j) for i, (g, r) in enumerate(rows) for j, (h, s) in enumerate(rows) if g == h and r > s]
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == expected


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rows=rows, ddof=st.integers(0, 1))
def test_statistics_against_a_loop(rows, ddof):
    score, group = tensors(rows)
    for i, (g, _) in enumerate(rows):
        judged = [s for h, s in rows if h == g and not math.isnan(s)]
        mean = sum(judged) / len(judged) if judged else 0
        free = len(judged) - ddof
        std = math.sqrt(sum((s - mean) ** 2 for s in judged) / free) if free > 0 else 0
        assert groups.group_size(score, group)[i] == len(judged)
        assert groups.group_mean(score, group)[i].item() == pytest.approx(mean)
        assert groups.group_std(score, group, ddof=ddof)[i].item() == pytest.approx(std)
        assert groups.group_max(score, group)[i] == max(judged, default=-math.inf)
        assert groups.has_signal(score, group)[i] == (len(set(judged)) > 1)


def test_members_by_hand():
    rows, there = groups.members(GROUP)
    found = [
        sorted(r for r, is_there in zip(*row, strict=True) if is_there)
        for row in zip(rows.tolist(), there.tolist(), strict=True)
    ]
    assert found == [[0, 2, 3], [1, 4], [0, 2, 3], [0, 2, 3], [1, 4], [5]]
    assert rows.shape == (6, 3)  # as wide as the largest group
    assert groups.members(GROUP[:0])[0].shape == (0, 0)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rows=rows)
def test_members_are_the_rows_of_the_same_group(rows):
    index, there = groups.members(tensors(rows)[1])
    for i, (g, _) in enumerate(rows):
        assert index[i][there[i]].tolist() == [j for j, (h, _) in enumerate(rows) if h == g]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rows=rows)
def test_logsumexp_against_a_loop(rows):
    """A row of -inf adds nothing; a group of nothing else gives the log of the least positive number, not a NaN."""
    value, group = tensors(rows)
    value = value.nan_to_num(nan=-math.inf)
    ours = groups.group_logsumexp(value, group).tolist()
    for i, (g, _) in enumerate(rows):
        total = sum(math.exp(v) for v, (h, _) in zip(value.tolist(), rows, strict=True) if h == g)
        assert ours[i] == pytest.approx(math.log(total or torch.finfo(torch.float64).tiny), rel=1e-12, abs=1e-15)


def test_logsumexp_of_far_values_is_finite_and_its_gradient_the_softmax():
    value = torch.tensor([1e4, 1e4 - 1, -1e4, -math.inf, 3.0], dtype=torch.float64, requires_grad=True)
    ours = groups.group_logsumexp(value, torch.tensor([0, 0, 0, 0, 1]))
    assert ours[0].item() == pytest.approx(1e4 + math.log1p(math.exp(-1)))
    (gradient,) = torch.autograd.grad(ours[0] + ours[4], value)
    chance = 1 / (1 + math.exp(-1))
    assert gradient.tolist() == pytest.approx([chance, 1 - chance, 0, 0, 1])
