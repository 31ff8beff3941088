"""REINFORCE against a slow loop over floats, written from its formula."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.reinforce import Reinforce
from objectives.plain import SEEDS, SIZES, groups_of, loss_of, mean, push_of, some, stats_of, step, table


def weights_of(c: Candidates, objective: Reinforce) -> dict[tuple[int, int], float]:
    """w[i, t] by row number and column, of the rows that count."""
    weights = {}
    everyone = [row for rows in groups_of(c) for row in rows]
    for rows in groups_of(c):
        compared = {"step": everyone, "group": rows, "none": []}[objective.baseline]
        b = mean(row.score for row in compared)
        for row in rows:
            for n, t in enumerate(row.at):
                kl = sum(p - q for p, q in zip(row.logp[n:], row.ref[n:], strict=True))
                weights[row.place, t] = row.score - b - objective.kl_coef * kl
    if objective.whiten and len(weights) > 1:
        m = mean(weights.values())
        std = math.sqrt(sum((w - m) ** 2 for w in weights.values()) / (len(weights) - 1))
        return {key: (w - m) / max(std, 1e-6) for key, w in weights.items()}
    return weights if not objective.whiten else dict.fromkeys(weights, 0.0)


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    baseline=st.sampled_from(["step", "group", "none"]),
    whiten=st.booleans(),
    kl_coef=st.sampled_from([0.0, 0.1]),
)
def test_against_a_loop(seed, sizes, baseline, whiten, kl_coef):
    c, objective = step(seed, sizes), Reinforce(baseline=baseline, whiten=whiten, kl_coef=kl_coef)
    w, rows = weights_of(c, objective), [row for rows in groups_of(c) for row in rows]
    loss = -mean(sum(w[row.place, t] * p for t, p in zip(row.at, row.logp, strict=True)) for row in rows)
    assert loss_of(objective, c) == pytest.approx(loss, rel=1e-11, abs=1e-13)
    expected = table(c, {key: value / len(rows) for key, value in w.items()})
    torch.testing.assert_close(push_of(objective, c), expected, rtol=1e-11, atol=1e-13)


def two_groups() -> Candidates:
    logp = torch.tensor([[-1.0, -2.0], [-4.0, 0.0], [-8.0, -8.0]], dtype=torch.float64)
    return Candidates(
        logp=logp,
        logp_ref=logp - torch.tensor([[1.0, 2.0], [3.0, 0.0], [4.0, 5.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True], [True, False], [True, True]]),
        group=torch.tensor([0, 0, 1]),
        score=torch.tensor([1.0, 0.0, 5.0], dtype=torch.float64),
    )


def test_by_hand():
    assert loss_of(Reinforce(baseline="none"), two_groups()) == pytest.approx(-(1 * -3 + 5 * -16) / 3)
    assert loss_of(Reinforce(baseline="step"), two_groups()) == pytest.approx(-(-1 * -3 + -2 * -4 + 3 * -16) / 3)
    assert loss_of(Reinforce(baseline="group"), two_groups()) == pytest.approx(-(0.5 * -3 - 0.5 * -4) / 3)
    pulled = [[1 - 0.3, 1 - 0.2], [-0.3, 0], [5 - 0.9, 5 - 0.5]]
    expected = (torch.tensor(pulled, dtype=torch.float64) / 3).flatten().tolist()
    assert push_of(Reinforce(baseline="none", kl_coef=0.1), two_groups()).flatten().tolist() == pytest.approx(expected)
    assert stats_of(Reinforce(baseline="none"), two_groups()) == pytest.approx({"weight": (1 + 1 + 0 + 5 + 5) / 5})


def test_needs():
    assert Reinforce().needs == Need.NONE
    assert Reinforce(kl_coef=0.1).needs == Need.REF | Need.CURRENT


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=re.escape("reinforce.kl_coef = -0.1, must be 0 or more and finite")):
        Reinforce(kl_coef=-0.1)
