"""CISPO against a slow loop over floats, written from the paper's formula."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.cispo import CISPO
from objectives.plain import SEEDS, SIZES, groups_of, loss_of, push_of, some, standardized, stats_of, step, table


@some
@given(seed=SEEDS, sizes=SIZES, cap=st.sampled_from([1.0, 1.2, 5.0]), per=st.sampled_from(["token", "completion"]))
def test_against_a_loop(seed, sizes, cap, per):
    """The push on a token is its capped ratio times its weight: the ratio itself has no gradient."""
    c, loss, pushes = step(seed, sizes), 0.0, {}
    everyone = [row for rows in groups_of(c) for row in rows]
    for rows in groups_of(c):
        for row, w in zip(rows, standardized([row.score for row in rows]), strict=True):
            share = 1 / sum(r.T for r in everyone) if per == "token" else 1 / row.T / len(everyone)
            for t, p, q in zip(row.at, row.logp, row.old, strict=True):
                pushes[row.place, t] = share * min(math.exp(p - q), cap) * w
                loss -= pushes[row.place, t] * p
    objective = CISPO(cap=cap, per=per)
    assert loss_of(objective, c) == pytest.approx(loss, rel=1e-11, abs=1e-13)
    torch.testing.assert_close(push_of(objective, c), table(c, pushes), rtol=1e-11, atol=1e-13)


def test_by_hand():
    """Ratios 3 (capped at 2) and 0.5; weights +-0.5; a token past the cap still learns."""
    old = torch.tensor([[-2.0], [-1.0]], dtype=torch.float64)
    c = Candidates(
        logp=old + torch.tensor([[3.0], [0.5]], dtype=torch.float64).log(),
        logp_old=old,
        mask=torch.ones(2, 1, dtype=torch.bool),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0], dtype=torch.float64),
    )
    objective = CISPO(cap=2.0, advantage="centered")
    assert push_of(objective, c).flatten().tolist() == pytest.approx([2 * 0.5 / 2, -0.5 * 0.5 / 2])
    assert loss_of(objective, c) == pytest.approx(-(1 * (math.log(3) - 2) - 0.25 * (math.log(0.5) - 1)) / 2)
    assert stats_of(objective, c) == pytest.approx({"capped": 0.5, "ratio": 1.75})


def test_needs():
    assert CISPO().needs == Need.OLD


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=re.escape("cispo.cap = 0.0, must be above 0 and finite")):
        CISPO(cap=0.0)
