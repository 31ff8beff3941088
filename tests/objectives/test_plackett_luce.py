"""Plackett-Luce against a slow loop over floats, written from the paper's formula."""

import math
import re
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives import DPO
from groupwise.objectives.plackett_luce import PlackettLuce
from objectives.plain import (
    SEEDS,
    SIZES,
    groups_of,
    loss_of,
    mean,
    normalized,
    pairs_of,
    push_of,
    ranking_nll,
    some,
    stats_of,
    step,
)

LENGTHS = st.sampled_from([("sum", 1.0), ("mean", 1.0), ("power", 0.5), ("linear", 0.1)])


@some
@given(seed=SEEDS, sizes=SIZES, beta=st.sampled_from([0.1, 1.0]), top=st.sampled_from([None, 1, 2, 9]), length=LENGTHS)
def test_against_a_loop(seed, sizes, beta, top, length):
    c = step(seed, sizes)
    objective = PlackettLuce(beta=beta, top=top, length=length[0], alpha=length[1])
    S = {row.place: beta * normalized(row.h, row.T, *length) for rows in groups_of(c) for row in rows}
    expected = mean(ranking_nll(rows, S, top) for rows in groups_of(c) if pairs_of(rows))
    assert loss_of(objective, c) == pytest.approx(expected, rel=1e-12)


def ranking(S: list[float], score: list[float]) -> Candidates:
    """One token each, of log-ratio S."""
    return Candidates(
        logp=torch.tensor(S, dtype=torch.float64)[:, None] - 9,
        logp_ref=torch.full((len(S), 1), -9.0, dtype=torch.float64),
        mask=torch.ones(len(S), 1, dtype=torch.bool),
        group=torch.zeros(len(S), dtype=torch.long),
        score=torch.tensor(score),
    )


def test_by_hand():
    """exp(S) = 4, 3, 2, 1 in this order: 4/10 x 3/6 x 2/3."""
    S = [math.log(n) for n in (4, 3, 2, 1)]
    c = ranking(S, [9.0, 3.0, 2.0, -1.0])
    assert loss_of(PlackettLuce(beta=1.0), c) == pytest.approx(-math.log(4 / 10 * 3 / 6 * 2 / 3))
    assert loss_of(PlackettLuce(beta=1.0, top=2), c) == pytest.approx(-math.log(4 / 10 * 3 / 6))
    tied = ranking(S, [1.0, 1.0, 0.0, 0.0])  # Breslow: both from the whole group; the worst make no choice
    assert loss_of(PlackettLuce(beta=1.0), tied) == pytest.approx(-math.log(4 / 10 * 3 / 10))
    pairs = [S[i] - S[j] for i in range(4) for j in range(i + 1, 4)]
    assert stats_of(PlackettLuce(beta=1.0), c) == pytest.approx({"margin": mean(pairs), "accuracy": 1})


def test_the_likelihoods_of_all_rankings_add_up_to_one():
    S = [0.3, -1.2, 0.8, 0.1]
    chances = [
        math.exp(-loss_of(PlackettLuce(beta=1.0), ranking(S, [float(k) for k in order])))
        for order in permutations(range(4))
    ]
    assert sum(chances) == pytest.approx(1, rel=1e-12)


def test_two_candidates_are_dpo():
    c = step(5, [2, 2, 2, 1], unjudged=0)
    assert loss_of(PlackettLuce(), c) == pytest.approx(loss_of(DPO(), c), rel=1e-12)
    torch.testing.assert_close(push_of(PlackettLuce(), c), push_of(DPO(), c), rtol=1e-12, atol=1e-15)


def test_needs():
    assert PlackettLuce().needs == Need.REF


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": 0.0}, "plackett_luce.beta = 0.0, must be above 0 and finite"),
        ({"top": 0}, "plackett_luce.top = 0, must be 1 or more"),
        ({"alpha": 0.5}, 'plackett_luce.alpha = 0.5 has no effect with length="sum"'),
        ({"alpha": math.inf, "length": "power"}, "plackett_luce.alpha = inf, must be finite"),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        PlackettLuce(**fields)
