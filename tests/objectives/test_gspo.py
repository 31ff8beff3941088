"""GSPO against a slow loop over floats, written from the paper's formula."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.gspo import GSPO
from objectives.plain import (
    SEEDS,
    SIZES,
    clipped,
    groups_of,
    loss_of,
    mean,
    push_of,
    some,
    standardized,
    stats_of,
    step,
    table,
)


@some
@given(seed=SEEDS, sizes=SIZES, clips=st.sampled_from([(3e-4, 4e-4), (0.1, 0.3)]))
def test_against_a_loop(seed, sizes, clips):
    """The push on each token: s_i w_i / T_i of the mean over responses, and none where the clip holds."""
    c, terms, pushes = step(seed, sizes), [], {}
    count = sum(map(len, groups_of(c)))
    for rows in groups_of(c):
        for row, w in zip(rows, standardized([row.score for row in rows]), strict=True):
            s = math.exp(sum(p - q for p, q in zip(row.logp, row.old, strict=True)) / row.T)
            terms.append(clipped(s, w, *clips))
            if terms[-1] == s * w:
                pushes |= {(row.place, t): s * w / row.T / count for t in row.at}
    objective = GSPO(clip_low=clips[0], clip_high=clips[1])
    assert loss_of(objective, c) == pytest.approx(-mean(terms), rel=1e-11, abs=1e-13)
    torch.testing.assert_close(push_of(objective, c), table(c, pushes), rtol=1e-11, atol=1e-13)


def two(ratio: list[list[float]]) -> Candidates:
    old = torch.tensor([[-1.0, -1.0], [-2.0, -2.0]], dtype=torch.float64)
    return Candidates(
        logp=old + torch.tensor(ratio, dtype=torch.float64).log(),
        logp_old=old,
        mask=torch.tensor([[True, True], [True, False]]),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0], dtype=torch.float64),
    )


def test_by_hand():
    """Ratios sqrt(2 x 8) = 4 and 0.5 of the responses; weights +-0.5."""
    c = two([[2.0, 8.0], [0.5, 77.0]])
    wide = GSPO(clip_low=0.9, clip_high=9.0, advantage="centered")
    assert loss_of(wide, c) == pytest.approx(-(4 * 0.5 - 0.5 * 0.5) / 2)
    assert stats_of(wide, c) == pytest.approx({"clip_fraction": 0, "ratio": (4 + 4 + 0.5) / 3})
    assert loss_of(GSPO(advantage="centered"), c) == pytest.approx(-(1.0004 * 0.5 - 0.9997 * 0.5) / 2)
    assert push_of(GSPO(advantage="centered"), c).count_nonzero() == 0


def test_one_ratio_for_a_whole_response():
    """A token far up does not silence its response where the mean has not moved; its token's clip would."""
    assert push_of(GSPO(), two([[4.0, 0.25], [1.0, 1.0]])).count_nonzero() == 3


def test_needs():
    assert GSPO().needs == Need.OLD


@pytest.mark.parametrize("name", ["clip_low", "clip_high"])
def test_settings_out_of_range_are_refused(name):
    with pytest.raises(ConfigError, match=re.escape(f"gspo.{name} = -0.1, must be 0 or more and finite")):
        GSPO(**{name: -0.1})
