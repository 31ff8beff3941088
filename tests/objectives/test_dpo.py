"""DPO against a slow loop over floats, written from the paper's formula."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.candidates import Candidates
from groupwise.errors import ConfigError, DataError
from groupwise.objectives import DPO
from objectives.plain import SEEDS, SIZES, Row, loss_of, mean_over_pairs, nls, normalized, some
from objectives.plain import step as any_step


def step(seed: int, sizes: list[int], tokens: int = 4) -> Candidates:
    draw = torch.Generator().manual_seed(seed)
    rows = sum(sizes)
    mask = torch.rand(rows, tokens, generator=draw) < 0.7
    mask[:, 0] = True
    logp, noise = (torch.randn(rows, tokens, generator=draw, dtype=torch.float64) for _ in range(2))
    return Candidates(
        logp=-logp.abs(),
        mask=mask,
        group=torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)),
        score=torch.randint(3, (rows,), generator=draw).double(),
        logp_ref=-logp.abs() + noise,
    )


def dpo_loop(c: Candidates, beta: float, e: float, length: str = "sum", alpha: float = 1.0) -> float:
    h = []
    for logp, ref, mask in zip(c.logp.tolist(), c.logp_ref.tolist(), c.mask.tolist(), strict=True):
        ratio = sum(p - q for p, q, counted in zip(logp, ref, mask, strict=True) if counted)
        h.append(beta * normalized(ratio, sum(mask), length, alpha))
    of_groups = []
    for g in set(c.group.tolist()):
        rows = [i for i, other in enumerate(c.group.tolist()) if other == g]
        margins = [h[i] - h[j] for i in rows for j in rows if c.score[i] > c.score[j]]
        losses = [(1 - e) * math.log1p(math.exp(-m)) + e * math.log1p(math.exp(m)) for m in margins]
        if losses:
            of_groups.append(sum(losses) / len(losses))
    return sum(of_groups) / max(len(of_groups), 1)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    beta=st.sampled_from([0.05, 0.1, 1.0]),
    e=st.sampled_from([0.0, 0.2]),
    length=st.sampled_from([("sum", 1.0), ("mean", 1.0), ("power", 0.5), ("linear", 0.1)]),
)
def test_against_a_loop(seed, sizes, beta, e, length):
    c = step(seed, sizes)
    objective = DPO(beta=beta, label_smoothing=e, length=length[0], alpha=length[1])
    assert objective(objective.prepare(c)).loss.item() == pytest.approx(dpo_loop(c, beta, e, *length), rel=1e-12)


def pair(**changes) -> Candidates:
    """Chosen: log-ratios 1 and 2; rejected: log-ratio -1."""
    fields = {
        "logp": torch.tensor([[-1.0, -1.0], [-3.0, 0.0]], dtype=torch.float64),
        "logp_ref": torch.tensor([[-2.0, -3.0], [-2.0, 0.0]], dtype=torch.float64),
        "mask": torch.tensor([[True, True], [True, False]]),
        "group": torch.zeros(2, dtype=torch.long),
        "score": torch.tensor([1.0, 0.0]),
    }
    return Candidates(**(fields | changes))


def test_by_hand():
    out = DPO(beta=0.5)(pair())  # h = 1.5 and -0.5, margin 2
    assert out.loss.item() == pytest.approx(math.log1p(math.exp(-2)))
    assert {name: mean.value for name, mean in out.stats.items()} == pytest.approx(
        {"loss": out.loss.item(), "margin": 2, "accuracy": 1, "reward_better": 1.5, "reward_worse": -0.5}
    )
    swapped = DPO(beta=0.5)(pair(score=torch.tensor([0.0, 1.0])))
    assert swapped.loss.item() == pytest.approx(math.log1p(math.exp(2)))
    assert swapped.stats["accuracy"].value == 0


@pytest.mark.parametrize("fields", [{}, {"label_smoothing": 0.3}, {"beta": 5.0}, {"length": "mean"}])
def test_a_policy_equal_to_the_reference_costs_log_two(fields):
    c = pair(logp_ref=pair().logp)
    assert DPO(**fields)(c).loss.item() == pytest.approx(math.log(2), rel=1e-15)


def test_all_pairs_of_two_is_the_pair():
    c = step(3, [2, 2, 2])
    c = Candidates(
        logp=c.logp, mask=c.mask, group=c.group, score=torch.tensor([1.0, 0, 0, 1, 1, 0]), logp_ref=c.logp_ref
    )
    alone = [DPO()(c.rows([2 * g, 2 * g + 1])).loss for g in range(3)]
    assert DPO()(c).loss.item() == pytest.approx(sum(alone).item())


COSTS = {
    "sigmoid": lambda m, e: (1 - e) * nls(m) + e * nls(-m),
    "hinge": lambda m, e: (1 - e) * max(0.0, 1 - m) + e * max(0.0, 1 + m),
    "robust": lambda m, e: ((1 - e) * nls(m) - e * nls(-m)) / (1 - 2 * e),
}


@pytest.mark.parametrize("name", COSTS)
@some
@given(seed=SEEDS, sizes=SIZES, smoothing=st.sampled_from([0.0, 0.2]), confidence=st.booleans())
def test_every_loss_against_a_loop(name, seed, sizes, smoothing, confidence):
    """A pair's own confidence, the lower of its rows', takes the place of 1 - label_smoothing."""
    c = any_step(seed, sizes, confidence=confidence)

    def cost(a: Row, b: Row) -> float:
        e = 1 - min(a.confidence, b.confidence) if confidence else smoothing
        return COSTS[name](0.5 * (a.h - b.h), e)

    objective = DPO(beta=0.5, loss=name, label_smoothing=smoothing)
    assert loss_of(objective, c) == pytest.approx(mean_over_pairs(c, cost), rel=1e-11)


def test_robust_is_unbiased_under_label_noise():
    """Labels turned round with probability e cost, on average, what right labels cost with e = 0."""
    right, wrong = pair(), pair(score=torch.tensor([0.0, 1.0]))
    robust = DPO(loss="robust", label_smoothing=0.3)
    assert 0.7 * loss_of(robust, right) + 0.3 * loss_of(robust, wrong) == pytest.approx(loss_of(DPO(), right))


def test_hinge_is_silent_past_a_margin_of_one():
    assert loss_of(DPO(loss="hinge", beta=0.25), pair()) == 0  # margin 1
    assert loss_of(DPO(loss="hinge", beta=0.125), pair()) == 0.5


def test_robust_refuses_a_label_that_says_nothing():
    c = pair(confidence=torch.tensor([0.9, 0.5]))
    assert math.isfinite(loss_of(DPO(), c))
    with pytest.raises(DataError, match=re.escape('confidence = 0.5, must be above 0.5 with dpo.loss = "robust"')):
        loss_of(DPO(loss="robust"), c)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": 0.0}, "dpo.beta = 0.0, must be above 0"),
        ({"beta": math.inf}, "dpo.beta = inf"),
        ({"label_smoothing": 0.5}, "dpo.label_smoothing = 0.5, must be in [0, 0.5)"),
        ({"label_smoothing": -0.1}, "dpo.label_smoothing = -0.1"),
        ({"alpha": 0.5}, 'dpo.alpha = 0.5 has no effect with length="sum"'),
        ({"alpha": math.inf, "length": "power"}, "dpo.alpha = inf, must be finite"),
    ],
)
def test_settings_out_of_range_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        DPO(**fields)
