"""PPO against a slow loop over floats, written from the papers' formulas."""

import math
import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Mean, Need
from groupwise.errors import ConfigError
from groupwise.objectives.ppo import PPO
from objectives.plain import SEEDS, SIZES, Row, clipped, groups_of, loss_of, mean, some, stats_of, step


def gae(row: Row, objective: PPO) -> tuple[list[float], list[float]]:
    """A_t = sum_k (gamma lam)^k delta_{t+k}, delta_t = r_t + gamma V_{t+1} - V_t; and the targets A + V."""
    reward = [-objective.kl_coef * (p - q) for p, q in zip(row.old, row.ref, strict=True)]
    reward[-1] += row.score
    after = [*row.value_old[1:], 0.0]
    delta = [r + objective.gamma * n - v for r, n, v in zip(reward, after, row.value_old, strict=True)]
    decay = objective.gamma * objective.lam
    advantage = [sum(decay**k * d for k, d in enumerate(delta[t:])) for t in range(row.T)]
    return advantage, [a + v for a, v in zip(advantage, row.value_old, strict=True)]


def ppo_loop(c: Candidates, objective: PPO) -> float:
    rows = [row for rows in groups_of(c) for row in rows]
    weight = {(row.place, n): a for row in rows for n, a in enumerate(gae(row, objective)[0])}
    if objective.whiten and len(weight) > 1:
        m = mean(weight.values())
        std = math.sqrt(sum((w - m) ** 2 for w in weight.values()) / (len(weight) - 1))
        weight = {key: (w - m) / std for key, w in weight.items()}
    elif objective.whiten:
        weight = dict.fromkeys(weight, 0.0)
    of_rows = []
    for row in rows:
        terms, target = [], gae(row, objective)[1]
        for n in range(row.T):
            rho = math.exp(row.logp[n] - row.old[n])
            error = (row.value[n] - target[n]) ** 2
            if objective.value_clip is not None:
                least, most = row.value_old[n] - objective.value_clip, row.value_old[n] + objective.value_clip
                error = max(error, (min(max(row.value[n], least), most) - target[n]) ** 2)
            policy = clipped(rho, weight[row.place, n], objective.clip_low, objective.clip_high)
            terms.append(-policy + objective.value_coef * error / 2)
        of_rows.append(terms)
    if objective.per == "token":
        return mean(term for terms in of_rows for term in terms)
    return mean(mean(terms) for terms in of_rows)


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    kl_coef=st.sampled_from([0.0, 0.05, 0.5]),
    estimation=st.sampled_from([{}, {"lam": 1.0}, {"lam": 0.3, "gamma": 0.9}]),
    whiten=st.booleans(),
    value=st.sampled_from([{}, {"value_clip": None}, {"value_coef": 0.5, "value_clip": 0.05}]),
    per=st.sampled_from(["token", "completion"]),
)
def test_against_a_loop(seed, sizes, kl_coef, estimation, whiten, value, per):
    c, objective = step(seed, sizes), PPO(kl_coef=kl_coef, whiten=whiten, per=per, **estimation, **value)
    assert loss_of(objective, c) == pytest.approx(ppo_loop(c, objective), rel=1e-10, abs=1e-12)


def one(value: list[float], **changes) -> Candidates:
    """One response of two tokens and score 1; the critic said 0.5 and 0.25."""
    old = torch.tensor([[-1.0, -2.0]], dtype=torch.float64)
    fields = {
        "logp": old,
        "logp_old": old,
        "logp_ref": old - torch.tensor([[0.5, 1.0]], dtype=torch.float64),
        "value": torch.tensor([value], dtype=torch.float64),
        "value_old": torch.tensor([[0.5, 0.25]], dtype=torch.float64),
        "mask": torch.ones(1, 2, dtype=torch.bool),
        "group": torch.tensor([0]),
        "score": torch.tensor([1.0], dtype=torch.float64),
    }
    return Candidates(**(fields | changes))


def test_advantages_by_hand():
    plain = PPO(kl_coef=0.0, whiten=False, lam=0.5)
    c = plain.prepare(one([0.0, 0.0]))  # deltas 0 + .25 - .5 and 1 - .25
    assert c.weight.tolist() == [[-0.25 + 0.5 * 0.75, 0.75]]
    assert c.value_target.tolist() == [[0.625, 1.0]]
    pulled = replace(plain, kl_coef=0.2).prepare(one([0.0, 0.0]))  # rewards -0.1 and 1 - 0.2
    assert pulled.weight.flatten().tolist() == pytest.approx([-0.35 + 0.5 * 0.55, 0.55])
    white = replace(plain, whiten=True).prepare(one([0.0, 0.0]))
    assert white.weight.flatten().tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])


def test_value_loss_by_hand():
    """Targets 0.625 and 1. The first value went past the clip toward its target, the second away from its own."""
    objective = PPO(kl_coef=0.0, whiten=False, lam=0.5, value_coef=1.0, value_clip=0.1)
    c = one([0.625, 0.0])
    errors = [(0.6 - 0.625) ** 2, (0.0 - 1) ** 2]  # clipped 0.6 is worse than 0.625; 0.0 is worse than 0.15
    policy = (0.125 + 0.75) / 2
    assert loss_of(objective, c) == pytest.approx(-policy + mean(errors) / 2)
    stats = {"clip_fraction": 0, "ratio": 1, "value_error": mean(errors)}
    assert stats_of(objective, c) == pytest.approx(stats)


def test_the_kl_is_of_the_policy_that_sampled():
    """Of k1 in the reward: the policy's own log-probabilities have no part in it once it has moved."""
    objective = PPO(whiten=False)
    moved = one([0.0, 0.0], logp=torch.tensor([[-0.5, -0.5]], dtype=torch.float64))
    assert torch.equal(objective.prepare(moved).weight, objective.prepare(one([0.0, 0.0])).weight)
    stats = stats_of(objective, moved)
    assert (stats["kl_ref"], stats["kl_completion"], stats["kl_coef"]) == pytest.approx((0.75, 1.5, 0.05))


@pytest.mark.parametrize(
    ("kl", "change"),
    [
        (6.6, 0.1),  # 10 % above the target of 6
        (5.4, -0.1),
        (60.0, 0.2),  # held at 20 %
        (0.0, -0.2),
    ],
)
def test_kl_coef_is_steered_to_the_target(kl, change):
    """kl_coef *= 1 + clip(KL / target - 1, +-0.2) n / horizon, of the n = 50 responses of the step."""
    objective = PPO(kl_target=6.0, kl_coef=0.2, kl_horizon=500.0)
    after = objective.after_step({"kl_completion": Mean(kl * 50, 50)})
    assert after == replace(objective, kl_coef=after.kl_coef)
    assert after.kl_coef == pytest.approx(0.2 * (1 + change * 0.1))


def test_a_step_longer_than_the_horizon_cannot_turn_kl_coef_negative():
    after = PPO(kl_target=6.0, kl_coef=0.2, kl_horizon=10.0).after_step({"kl_completion": Mean(0.0, 64)})
    assert after.kl_coef == pytest.approx(0.2 * 0.8)


def test_a_step_that_measured_nothing_leaves_kl_coef():
    objective = PPO(kl_target=6.0)
    assert objective.after_step({}) == objective
    assert objective.after_step({"kl_completion": Mean(0.0, 0)}) == objective
    assert PPO().after_step({"kl_completion": Mean(50.0, 1)}) == PPO()


def test_needs():
    assert PPO().needs == Need.OLD | Need.VALUE | Need.REF | Need.CURRENT
    assert PPO(kl_coef=0.0).needs == Need.OLD | Need.VALUE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clip_low": -0.1}, "ppo.clip_low = -0.1, must be 0 or more and finite"),
        ({"clip_high": -0.1}, "ppo.clip_high = -0.1, must be 0 or more"),
        ({"kl_coef": -0.1}, "ppo.kl_coef = -0.1, must be 0 or more"),
        ({"value_coef": -0.1}, "ppo.value_coef = -0.1, must be 0 or more"),
        ({"value_clip": 0.0}, "ppo.value_clip = 0.0, must be above 0"),
        ({"kl_target": 0.0}, "ppo.kl_target = 0.0, must be above 0"),
        ({"kl_horizon": 0.0, "kl_target": 6.0}, "ppo.kl_horizon = 0.0, must be above 0"),
        ({"kl_horizon": 5.0}, "ppo.kl_horizon = 5.0 has no effect with kl_target=None"),
        ({"gamma": 1.1}, "ppo.gamma = 1.1, must be in [0, 1]"),
        ({"lam": -0.1}, "ppo.lam = -0.1, must be in [0, 1]"),
        ({"kl_target": 6.0, "kl_coef": 0.0}, "ppo.kl_target = 6.0 has no effect with kl_coef=0"),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        PPO(**fields)
