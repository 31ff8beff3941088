"""Best of n against a slow loop over floats, written from its formula."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.best_of_n import BestOfN
from objectives.plain import SEEDS, SIZES, Row, groups_of, loss_of, mean, pairs_of, push_of, some, stats_of, step


def share(row: Row, rows: list[Row], k: int) -> float:
    """1/k a place; those that tie share their places. All are best where the group has no more than k."""
    k = min(k, len(rows))
    better = sum(other.score > row.score for other in rows)
    tied = sum(other.score == row.score for other in rows)
    return max(0, min(k - better, tied)) / tied / k


@some
@given(seed=SEEDS, sizes=SIZES, k=st.sampled_from([1, 2, 3]))
def test_against_a_loop(seed, sizes, k):
    c = step(seed, sizes)
    of_groups = [
        -sum(share(row, rows, k) * sum(row.logp) / row.T for row in rows) for rows in groups_of(c) if pairs_of(rows)
    ]
    assert loss_of(BestOfN(k=k), c) == pytest.approx(mean(of_groups), rel=1e-12)


def four(score: list[float]) -> Candidates:
    return Candidates(
        logp=torch.tensor([[-1.0, -3.0], [-4.0, 0.0], [-8.0, -8.0], [-16.0, 0.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True], [True, False], [True, True], [True, False]]),
        group=torch.zeros(4, dtype=torch.long),
        score=torch.tensor(score),
    )


def test_by_hand():
    assert loss_of(BestOfN(), four([0.0, 3.0, 1.0, 1.0])) == 4
    assert loss_of(BestOfN(k=2), four([0.0, 3.0, 1.0, 1.0])) == 4 / 2 + 8 / 4 + 16 / 4
    assert loss_of(BestOfN(), four([5.0, 5.0, 1.0, 1.0])) == (2 + 4) / 2
    assert loss_of(BestOfN(), four([5.0, 5.0, 5.0, 5.0])) == 0
    assert push_of(BestOfN(), four([2.0, 1.0, 1.0, 0.0])).tolist() == [[0.5, 0.5], [0, 0], [0, 0], [0, 0]]
    assert stats_of(BestOfN(), four([5.0, 5.0, 1.0, 1.0])) == {"nll": 3}


def test_needs():
    assert BestOfN().needs == Need.NONE


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=re.escape("best_of_n.k = 0, must be 1 or more")):
        BestOfN(k=0)
