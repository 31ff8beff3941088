"""KTO against a slow loop over floats, written from the paper's formula."""

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.kto import KTO
from objectives.plain import SEEDS, logistic, loss_of, mean, push_of, rows_of, some, stats_of, step, table

LAMBDAS = st.sampled_from([{}, {"lambda_desirable": 1.33}, {"lambda_undesirable": 0.7}])


def reference_point(c: Candidates) -> float:
    return max(0.0, mean(row.h for row in rows_of(c) if row.mismatched))


@some
@given(
    seed=SEEDS,
    thumbs=st.integers(1, 6),
    mismatched=st.integers(1, 3),
    beta=st.sampled_from([0.1, 1.0]),
    lambdas=LAMBDAS,
    z0=st.sampled_from(["mismatched", "zero"]),
    confidence=st.booleans(),
)
def test_against_a_loop(seed, thumbs, mismatched, beta, lambdas, z0, confidence):
    c = step(seed, [1] * thumbs, mismatched=mismatched, confidence=confidence)
    z = reference_point(c) if z0 == "mismatched" else 0.0
    up, down = lambdas.get("lambda_desirable", 1.0), lambdas.get("lambda_undesirable", 1.0)
    losses = []
    for row in filter(lambda row: row.counts, rows_of(c)):
        liked = up - up * logistic(beta * (row.h - z))
        disliked = down - down * logistic(beta * (z - row.h))
        wanted, unwanted = (liked, disliked) if row.score > 0 else (disliked, liked)
        losses.append(row.confidence * wanted + (1 - row.confidence) * unwanted)
    assert loss_of(KTO(beta=beta, z0=z0, **lambdas), c) == pytest.approx(mean(losses), rel=1e-12)


@some
@given(seed=SEEDS, thumbs=st.integers(1, 6))
def test_pushes_are_beta_lambda_s_one_minus_s(seed, thumbs):
    """z0 is detached: no gradient reaches a mismatched row, and none reaches a row through z0."""
    c = step(seed, [1] * thumbs, mismatched=2)
    z, counted, pushes = reference_point(c), [row for row in rows_of(c) if row.counts], {}
    for row in counted:
        s = logistic(0.5 * (row.h - z))
        scale = 1.2 if row.score > 0 else -0.9
        pushes |= {(row.place, t): 0.5 * scale * s * (1 - s) / len(counted) for t in row.at}
    objective = KTO(beta=0.5, lambda_desirable=1.2, lambda_undesirable=0.9)
    torch.testing.assert_close(push_of(objective, c), table(c, pushes), rtol=1e-12, atol=1e-15)


def thumbs(mismatched: list[float]) -> Candidates:
    """Log-ratios 1 (liked) and -2 (a score of 0: not liked), then mismatched rows."""
    ratios = torch.tensor([1.0, -2.0, *mismatched], dtype=torch.float64)[:, None]
    ref = torch.full_like(ratios, -9.0)
    return Candidates(
        logp=ref + ratios,
        logp_ref=ref,
        mask=torch.ones_like(ratios, dtype=torch.bool),
        group=torch.arange(len(ratios)),
        score=torch.tensor([1.0, 0.0] + [1.0] * len(mismatched)),
        mismatched=torch.tensor([False, False] + [True] * len(mismatched)),
    )


def test_by_hand():
    c = thumbs([0.5, 1.5, -0.5])  # z0 = 0.5
    expected = ((1 - logistic(0.5)) + (1 - logistic(2.5))) / 2
    assert loss_of(KTO(beta=1.0), c) == pytest.approx(expected)
    stats = {"loss": expected, "reward_desirable": 1, "reward_undesirable": -2, "z0": 0.5}
    assert stats_of(KTO(beta=1.0), c) == pytest.approx(stats)
    below = thumbs([-3.5, 1.0])  # a mean below 0 is held at 0
    assert loss_of(KTO(beta=1.0), below) == loss_of(KTO(beta=1.0, z0="zero"), below)


def test_z0_is_of_the_whole_step_and_not_of_a_part():
    c = KTO(beta=1.0).prepare(thumbs([0.5, 1.5, -0.5]))
    parts = [KTO(beta=1.0)(c.rows(rows)).loss.item() for rows in ([0, 2], [1, 3], [4])]
    assert sum(parts) == pytest.approx(loss_of(KTO(beta=1.0), thumbs([0.5, 1.5, -0.5])), rel=1e-15)


def test_z0_is_of_the_policy_before_the_step():
    """The second of several updates on the same step moves the policy, not the point it is measured from."""
    c = KTO().prepare(thumbs([2.0]))
    assert KTO()(replace(c, logp=c.logp - 1)).stats["z0"].value == 2


def test_a_step_without_mismatched_rows_is_an_error():
    c = replace(thumbs([]), mismatched=torch.tensor([False, False]))
    with pytest.raises(ValueError, match="kto reads mismatched rows for z0, and this step has none"):
        KTO().prepare(c)
    with pytest.raises(ValueError, match=r"kto reads Candidates\.mismatched"):
        KTO().prepare(replace(c, mismatched=None))
    assert loss_of(KTO(z0="zero"), c) > 0


def test_needs():
    assert KTO().needs == Need.REF | Need.CURRENT | Need.MISMATCHED
    assert KTO(z0="zero").needs == Need.REF


@pytest.mark.parametrize("name", ["beta", "lambda_desirable", "lambda_undesirable"])
def test_settings_out_of_range_are_refused(name):
    with pytest.raises(ConfigError, match=re.escape(f"kto.{name} = 0.0, must be above 0 and finite")):
        KTO(**{name: 0.0})
