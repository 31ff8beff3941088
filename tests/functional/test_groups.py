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
