"""ListNet against a slow loop over floats, written from the paper's formula."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives.listnet import ListNet
from objectives.plain import SEEDS, SIZES, groups_of, loss_of, mean, normalized, pairs_of, push_of, some, stats_of, step

LENGTHS = st.sampled_from([("sum", 1.0), ("mean", 1.0), ("power", 0.5), ("linear", 0.1)])


def softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(v) for v in values)
    return [math.exp(v) / total for v in values]


@some
@given(
    seed=SEEDS, sizes=SIZES, beta=st.sampled_from([0.1, 1.0]), temperature=st.sampled_from([0.2, 1.0]), length=LENGTHS
)
def test_against_a_loop(seed, sizes, beta, temperature, length):
    c, of_groups = step(seed, sizes), []
    for rows in groups_of(c):
        if pairs_of(rows):
            target = softmax([row.score / temperature for row in rows])
            chance = softmax([beta * normalized(row.h, row.T, *length) for row in rows])
            of_groups.append(-sum(p * math.log(q) for p, q in zip(target, chance, strict=True)))
    objective = ListNet(beta=beta, temperature=temperature, length=length[0], alpha=length[1])
    assert loss_of(objective, c) == pytest.approx(mean(of_groups), rel=1e-12)


def three() -> Candidates:
    """S = log 4, log 2, log 2 and scores log 2, 0, 0: chances and targets both 1/2, 1/4, 1/4."""
    return Candidates(
        logp=torch.tensor([4.0, 2.0, 2.0], dtype=torch.float64).log()[:, None] - 9,
        logp_ref=torch.full((3, 1), -9.0, dtype=torch.float64),
        mask=torch.ones(3, 1, dtype=torch.bool),
        group=torch.zeros(3, dtype=torch.long),
        score=torch.tensor([math.log(2), 0.0, 0.0], dtype=torch.float64),
    )


def test_by_hand():
    """At the target the loss is its entropy, and nothing is pushed."""
    assert loss_of(ListNet(beta=1.0), three()) == pytest.approx(1.5 * math.log(2))
    assert push_of(ListNet(beta=1.0), three()).abs().max() < 1e-15
    assert stats_of(ListNet(beta=1.0), three()) == pytest.approx({"margin": math.log(2), "accuracy": 1})


def test_the_push_is_beta_times_target_less_chance():
    sharp = push_of(ListNet(beta=0.5, temperature=0.5), three()).flatten().tolist()
    target = softmax([2 * math.log(2), 0.0, 0.0])
    chance = softmax([0.5 * math.log(4), 0.5 * math.log(2), 0.5 * math.log(2)])
    assert sharp == pytest.approx([0.5 * (p - q) for p, q in zip(target, chance, strict=True)])


def test_needs():
    assert ListNet().needs == Need.REF


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": 0.0}, "listnet.beta = 0.0, must be above 0 and finite"),
        ({"temperature": 0.0}, "listnet.temperature = 0.0, must be above 0 and finite"),
        ({"alpha": 0.5}, 'listnet.alpha = 0.5 has no effect with length="sum"'),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        ListNet(**fields)
