"""RRHF against a slow loop over floats, written from the paper's formula."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.rrhf import RRHF
from objectives.plain import SEEDS, SIZES, Row, groups_of, loss_of, mean, nls, pairs_of, push_of, some, stats_of, step


def of_group(rows: list[Row], objective: RRHF) -> float:
    def p(row: Row) -> float:
        return sum(row.logp) / row.T

    K = len(rows)
    if objective.margin == "hinge":
        ranking = sum(max(0.0, p(b) - p(a)) for a, b in pairs_of(rows))
    else:
        ranking = sum(nls(p(a) - p(b)) for a, b in pairs_of(rows)) / (K * (K - 1))
    best = [row for row in rows if row.score == max(other.score for other in rows)]
    tuning = mean(sum(row.logp) / (row.T if objective.sft_length == "mean" else 1) for row in best)
    return ranking - objective.sft * tuning


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    margin=st.sampled_from(["hinge", "logistic"]),
    sft=st.sampled_from([{}, {"sft": 0.0}, {"sft": 0.3}, {"sft_length": "mean"}]),
)
def test_against_a_loop(seed, sizes, margin, sft):
    c, objective = step(seed, sizes), RRHF(margin=margin, **sft)
    expected = mean(of_group(rows, objective) for rows in groups_of(c) if pairs_of(rows))
    assert loss_of(objective, c) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def three() -> Candidates:
    """Mean log-probabilities -2, -1, -3 of scores 2, 1, 0: one pair in the wrong order, by 1."""
    return Candidates(
        logp=torch.tensor([[-2.0, -2.0], [-1.0, -1.0], [-3.0, 0.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True], [True, True], [True, False]]),
        group=torch.zeros(3, dtype=torch.long),
        score=torch.tensor([2.0, 1.0, 0.0]),
    )


def test_by_hand():
    assert loss_of(RRHF(), three()) == pytest.approx(1 + 4)
    assert loss_of(RRHF(sft_length="mean"), three()) == pytest.approx(1 + 2)
    assert loss_of(RRHF(sft=0.0), three()) == pytest.approx(1)
    smooth = (nls(-1) + nls(1) + nls(2)) / 6
    assert loss_of(RRHF(sft=0.0, margin="logistic"), three()) == pytest.approx(smooth)
    expected = {"ranking": 1 / 3, "nll": 2, "margin": (-1 + 1 + 2) / 3, "accuracy": 2 / 3}
    assert stats_of(RRHF(), three()) == pytest.approx(expected)


def test_a_response_is_pushed_for_each_pair_in_the_wrong_order():
    """+1 for each pair that it should win but loses, -1 for each that it wins but should lose, over its tokens."""
    assert push_of(RRHF(sft=0.0), three()).tolist() == [[0.5, 0.5], [-0.5, -0.5], [0, 0]]
    assert push_of(RRHF(), three()).tolist() == [[1.5, 1.5], [-0.5, -0.5], [0, 0]]


def test_needs():
    assert RRHF().needs == Need.NONE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sft": -1.0}, "rrhf.sft = -1.0, must be 0 or more and finite"),
        ({"sft": 0.0, "sft_length": "mean"}, "rrhf.sft_length = 'mean' has no effect with sft=0"),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        RRHF(**fields)
