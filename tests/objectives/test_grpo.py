"""GRPO against a slow loop over floats, written from the paper's formula."""

import math
import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need, implied_weights
from groupwise.errors import ConfigError
from groupwise.objectives import GRPO
from objectives.plain import SEEDS, SIZES, clipped, groups_of, loss_of, mean, some, standardized
from objectives.plain import step as any_step


def step(seed: int, sizes: list[int], tokens: int = 4) -> Candidates:
    draw = torch.Generator().manual_seed(seed)
    rows = sum(sizes)
    mask = torch.rand(rows, tokens, generator=draw) < 0.7
    mask[:, 0] = True
    logp, old, ref = (torch.randn(rows, tokens, generator=draw, dtype=torch.float64) for _ in range(3))
    return Candidates(
        logp=-logp.abs(),
        mask=mask,
        group=torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)),
        score=torch.randint(3, (rows,), generator=draw).double(),
        logp_old=-logp.abs() + 0.3 * old,
        logp_ref=-logp.abs() + ref,
    )


def weight_loop(scores: list[float], i: int, advantage: str) -> float:
    if len(set(scores)) == 1:
        return 0.0
    mean = sum(scores) / len(scores)
    if advantage == "standardized":
        return (scores[i] - mean) / math.sqrt(sum((r - mean) ** 2 for r in scores) / (len(scores) - 1))
    if advantage == "leave_one_out":
        return scores[i] - (sum(scores) - scores[i]) / (len(scores) - 1)
    assert advantage == "centered"
    return scores[i] - mean


KL = {"k1": lambda d: d, "k2": lambda d: d * d / 2, "k3": lambda d: math.exp(-d) - 1 + d}


def grpo_loop(c: Candidates, objective: GRPO) -> float:
    rows = []
    for i, g in enumerate(c.group.tolist()):
        members = [j for j, other in enumerate(c.group.tolist()) if other == g]
        w = weight_loop([c.score[j].item() for j in members], members.index(i), objective.advantage)
        terms = []
        for t in range(c.mask.shape[1]):
            if c.mask[i, t]:
                rho = math.exp(c.logp[i, t].item() - c.logp_old[i, t].item())
                near = max(1 - objective.clip_low, min(rho, 1 + objective.clip_high))
                kl = KL[objective.kl](c.logp[i, t].item() - c.logp_ref[i, t].item())
                terms.append(min(rho * w, near * w) - objective.kl_coef * kl)
        rows.append(terms)
    if objective.per == "token":
        return -sum(map(sum, rows)) / sum(map(len, rows))
    if objective.per == "constant":
        return -sum(map(sum, rows)) / (len(rows) * (objective.constant_length or max(map(len, rows))))
    return -sum(sum(terms) / len(terms) for terms in rows) / len(rows)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    advantage=st.sampled_from(["standardized", "centered", "leave_one_out"]),
    per=st.sampled_from(
        [{"per": "completion"}, {"per": "token"}, {"per": "constant"}, {"per": "constant", "constant_length": 9}]
    ),
    clip_high=st.sampled_from([0.2, 0.28]),
    kl=st.sampled_from([{}, {"kl_coef": 0.04}, {"kl_coef": 0.5, "kl": "k2"}, {"kl_coef": 0.5, "kl": "k1"}]),
)
def test_against_a_loop(seed, sizes, advantage, per, clip_high, kl):
    c = step(seed, sizes)
    objective = GRPO(advantage=advantage, clip_high=clip_high, **per, **kl)
    assert objective(objective.prepare(c)).loss.item() == pytest.approx(grpo_loop(c, objective), rel=1e-11, abs=1e-13)


def test_by_hand():
    """Two answers, weights +-0.5 (centered); ratios 1.5 and 0.5, both past the clip; one token each."""
    old = torch.tensor([[-1.0], [-1.0]], dtype=torch.float64)
    c = Candidates(
        logp=old + torch.tensor([[1.5], [0.5]], dtype=torch.float64).log(),
        logp_old=old,
        mask=torch.ones(2, 1, dtype=torch.bool),
        group=torch.tensor([4, 4]),
        score=torch.tensor([1.0, 0.0]),
    )
    objective = GRPO(advantage="centered")
    out = objective(objective.prepare(c))
    assert out.loss.item() == pytest.approx(-(1.2 * 0.5 - 0.8 * 0.5) / 2)
    assert out.stats["clip_fraction"].value == 1
    assert out.stats["ratio"].value == pytest.approx(1.0)
    assert implied_weights(objective, objective.prepare(c)).count_nonzero() == 0


def test_at_ratio_one_it_is_reinforce():
    c = replace(step(0, [4, 4]), logp_old=None)
    objective = GRPO(per="token")
    c = objective.prepare(c)
    assert torch.equal(implied_weights(objective, c), torch.where(c.mask, c.weight / c.mask.sum(), 0.0))


def test_a_policy_equal_to_the_reference_has_no_divergence_and_is_not_pulled():
    c = step(1, [3, 3])
    c = replace(c, logp_ref=c.logp)
    plain, pulled = GRPO(), GRPO(kl_coef=0.5)
    out = pulled(pulled.prepare(c))
    assert out.stats["kl_ref"].total == 0
    assert out.loss.item() == plain(plain.prepare(c)).loss.item()
    weights = [implied_weights(objective, objective.prepare(c)) for objective in (plain, pulled)]
    torch.testing.assert_close(*weights, rtol=1e-12, atol=0)


def test_mismatched_rows_leave_the_groups_statistics():
    c = step(2, [3])
    c = replace(c, score=torch.tensor([0.0, 1.0, 100.0]), mismatched=torch.tensor([False, False, True]))
    assert GRPO(advantage="centered").prepare(c).weight.flatten().tolist() == [-0.5, 0.5, 0]


def test_needs_follow_the_settings():
    assert GRPO().needs == Need.OLD
    assert GRPO(kl_coef=0.04).needs == Need.OLD | Need.REF


@some
@given(seed=SEEDS, sizes=SIZES)
def test_process_rewards_against_a_loop(seed, sizes):
    """4.1.3: each step's reward against all of the group's; a token has those of the steps that end at or after it."""
    c = any_step(seed, sizes)
    draw = torch.Generator().manual_seed(seed)
    reward = torch.randint(3, c.logp.shape, generator=draw).double()
    reward[torch.rand(reward.shape, generator=draw) < 0.4] = torch.nan
    c = replace(c, token_score=reward)
    terms = []
    for rows in groups_of(c):
        ends = [(row.place, t) for row in rows for t in row.at if not math.isnan(reward[row.place, t])]
        weights = dict(zip(ends, standardized([reward[end].item() for end in ends]), strict=True))
        for row in rows:
            w = [sum(weights.get((row.place, u), 0.0) for u in row.at if u >= t) for t in row.at]
            rho = [math.exp(p - q) for p, q in zip(row.logp, row.old, strict=True)]
            terms.append(mean(clipped(r, x, 0.2, 0.2) for r, x in zip(rho, w, strict=True)))
    assert loss_of(GRPO(process=True), c) == pytest.approx(-mean(terms), rel=1e-11, abs=1e-13)


def test_process_rewards_by_hand():
    """Two answers of three tokens; steps end at 1 and 2 in the first (rewards 1, 0), at 2 in the second (reward 2)."""
    nan = math.nan
    c = Candidates(
        logp=torch.zeros(2, 3, dtype=torch.float64),
        mask=torch.ones(2, 3, dtype=torch.bool),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.zeros(2, dtype=torch.float64),
        token_score=torch.tensor([[nan, 1.0, 0.0], [nan, nan, 2.0]], dtype=torch.float64),
    )
    assert GRPO(process=True).prepare(c).weight.tolist() == [[-1, -1, -1], [1, 1, 1]]
    assert GRPO(process=True, advantage="leave_one_out").prepare(c).weight.tolist() == [[-1.5] * 3, [1.5] * 3]
    with pytest.raises(ValueError, match=r"grpo\.process = True reads the rewards of steps"):
        GRPO(process=True).prepare(replace(c, token_score=None))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clip_low": 1.4}, "grpo.clip_low = 1.4, must be in [0, 1]"),
        ({"clip_high": -0.1}, "grpo.clip_high = -0.1, must be 0 or more"),
        ({"kl_coef": -1.0}, "grpo.kl_coef = -1.0, must be 0 or more"),
        ({"kl_coef": math.inf}, "grpo.kl_coef = inf"),
        ({"kl": "k2"}, 'grpo.kl = "k2" has no effect with kl_coef=0'),
        ({"ddof": 2}, "grpo.ddof = 2, must be 0 (population) or 1 (sample)"),
        ({"ddof": 0, "advantage": "ranked"}, 'grpo.ddof = 0 has no effect with advantage="ranked"'),
        ({"constant_length": 0, "per": "constant"}, "grpo.constant_length = 0, must be 1 token or more"),
        ({"constant_length": 9}, 'grpo.constant_length = 9 has no effect with per="completion"'),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        GRPO(**fields)
