"""The reward model against a slow loop over floats, written from the papers' formulas."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.reward_model import RewardModel
from objectives.plain import (
    SEEDS,
    SIZES,
    Row,
    groups_of,
    loss_of,
    mean,
    mean_over_pairs,
    nls,
    ranking_nll,
    some,
    stats_of,
    step,
)

MARGINS = st.sampled_from([{}, {"margin": 0.3}, {"margin_per_score": 0.5}, {"margin": 0.3, "margin_per_score": 2.0}])


@some
@given(seed=SEEDS, sizes=SIZES, margins=MARGINS, center=st.sampled_from([0.0, 0.01]), confidence=st.booleans())
def test_pairs_against_a_loop(seed, sizes, margins, center, confidence):
    c = step(seed, sizes, confidence=confidence)

    def cost(a: Row, b: Row) -> float:
        R_w, R_l, e = a.value[-1], b.value[-1], 1 - min(a.confidence, b.confidence)
        m = margins.get("margin", 0) + margins.get("margin_per_score", 0) * (a.score - b.score)
        return (1 - e) * nls(R_w - R_l - m) + e * nls(R_l - R_w - m) + center * (R_w + R_l) ** 2

    objective = RewardModel(center=center, **margins)
    assert loss_of(objective, c) == pytest.approx(mean_over_pairs(c, cost), rel=1e-12)


@some
@given(seed=SEEDS, sizes=SIZES, center=st.sampled_from([0.0, 0.01]))
def test_rankings_against_a_loop(seed, sizes, center):
    c = step(seed, sizes)
    R = {row.place: row.value[-1] for rows in groups_of(c) for row in rows}
    rankings = [ranking_nll(rows, R, None) for rows in groups_of(c) if len({row.score for row in rows}) > 1]
    pull = mean_over_pairs(c, lambda a, b: center * (a.value[-1] + b.value[-1]) ** 2)
    objective = RewardModel(ranking="plackett_luce", center=center)
    assert loss_of(objective, c) == pytest.approx(mean(rankings) + pull, rel=1e-12)


def pair(better: float, worse: float) -> Candidates:
    """A reward stands at the last token; what the head says before it is not read."""
    return Candidates(
        logp=torch.zeros(2, 3),
        value=torch.tensor([[7.0, 8.0, better], [9.0, worse, 5.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True, True], [True, True, False]]),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0]),
    )


def test_by_hand():
    assert loss_of(RewardModel(), pair(2.0, 0.5)) == pytest.approx(nls(1.5))
    assert loss_of(RewardModel(margin=1.0, margin_per_score=0.25), pair(2.0, 0.5)) == pytest.approx(nls(0.25))
    assert loss_of(RewardModel(center=0.1), pair(2.0, 0.5)) == pytest.approx(nls(1.5) + 0.1 * 2.5**2)
    expected = {"loss": nls(1.5), "margin": 1.5, "accuracy": 1, "reward_better": 2, "reward_worse": 0.5}
    assert stats_of(RewardModel(), pair(2.0, 0.5)) == pytest.approx(expected)


def test_the_gradient_of_the_reward_is_the_chance_of_the_wrong_order():
    c = pair(2.0, 0.5)
    value = c.value.clone().requires_grad_()
    RewardModel()(Candidates(logp=c.logp, value=value, mask=c.mask, group=c.group, score=c.score)).loss.backward()
    wrong = 1 / (1 + math.exp(1.5))
    assert value.grad.tolist() == [[0, 0, pytest.approx(-wrong)], [0, pytest.approx(wrong), 0]]


def test_needs():
    assert RewardModel().needs == Need.VALUE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"margin": -0.1}, "reward_model.margin = -0.1, must be 0 or more and finite"),
        ({"margin_per_score": -0.1}, "reward_model.margin_per_score = -0.1, must be 0 or more"),
        ({"center": -0.1}, "reward_model.center = -0.1, must be 0 or more"),
        (
            {"margin": 0.1, "ranking": "plackett_luce"},
            'reward_model.margin = 0.1 has no effect with ranking="plackett_luce"',
        ),
        ({"margin_per_score": 1.0, "ranking": "plackett_luce"}, "reward_model.margin_per_score = 1.0 has no effect"),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        RewardModel(**fields)
