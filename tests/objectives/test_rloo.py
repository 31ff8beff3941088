"""RLOO against a slow loop over floats, written from the paper's formula."""

import math
import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.rloo import RLOO
from objectives.plain import SEEDS, SIZES, clipped, groups_of, loss_of, mean, push_of, some, stats_of, step, table


def weights_of(c: Candidates, kl_coef: float) -> dict[int, float]:
    """R_i less the mean of the group's other R, by row number."""
    weights = {}
    for rows in groups_of(c):
        R = {row.place: row.score - kl_coef * row.h for row in rows}
        for i in R:
            others = [R[j] for j in R if j != i]
            weights[i] = R[i] - mean(others) if others else 0.0
    return weights


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    kl_coef=st.sampled_from([0.0, 0.05]),
    clips=st.sampled_from([{}, {"clip_low": 0.1, "clip_high": 0.3}]),
)
def test_against_a_loop(seed, sizes, kl_coef, clips):
    c = step(seed, sizes)
    w, rows = weights_of(c, kl_coef), [row for rows in groups_of(c) for row in rows]
    low, high = clips.get("clip_low", 0.2), clips.get("clip_high", 0.2)
    terms = [clipped(math.exp(sum(row.logp) - sum(row.old)), w[row.place], low, high) for row in rows]
    objective = RLOO(kl_coef=kl_coef, **clips)
    assert loss_of(objective, c) == pytest.approx(-mean(terms), rel=1e-11, abs=1e-13)


@some
@given(seed=SEEDS, sizes=SIZES)
def test_on_its_own_samples_the_push_is_the_weight(seed, sizes):
    c = replace(step(seed, sizes), logp_old=None)
    w, rows = weights_of(c, 0.05), [row for rows in groups_of(c) for row in rows]
    expected = table(c, {(row.place, t): w[row.place] / len(rows) for row in rows for t in row.at})
    torch.testing.assert_close(push_of(RLOO(kl_coef=0.05), c), expected, rtol=1e-11, atol=1e-13)


def test_by_hand():
    """Ratios 1.5 and 0.5 of whole responses, both past the clip; weights 1 and -1."""
    old = torch.tensor([[-1.0, -1.0], [-2.0, 0.0]], dtype=torch.float64)
    c = Candidates(
        logp=old + torch.tensor([[math.log(3), -math.log(2)], [-math.log(2), 0.0]], dtype=torch.float64),
        logp_old=old,
        mask=torch.tensor([[True, True], [True, False]]),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0], dtype=torch.float64),
    )
    assert loss_of(RLOO(), c) == pytest.approx(-(1.2 - 0.8) / 2)
    assert stats_of(RLOO(), c) == pytest.approx({"clip_fraction": 1, "ratio": 1})
    assert loss_of(RLOO(clip_low=0.6, clip_high=0.6), c) == pytest.approx(-(1.5 - 0.5) / 2)
    assert stats_of(RLOO(clip_low=0.6, clip_high=0.3), c)["clip_fraction"] == 0.5


def test_needs():
    assert RLOO().needs == Need.OLD
    assert RLOO(kl_coef=0.1).needs == Need.OLD | Need.REF | Need.CURRENT


@pytest.mark.parametrize("name", ["kl_coef", "clip_low", "clip_high"])
def test_settings_out_of_range_are_refused(name):
    with pytest.raises(ConfigError, match=re.escape(f"rloo.{name} = -0.1, must be 0 or more and finite")):
        RLOO(**{name: -0.1})
