"""Losses and gradients of another library on the same log-probabilities; the file says where they come from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from groupwise.candidates import Candidates, Objective, implied_weights
from groupwise.objectives import DPO, GRPO
from groupwise.objectives.cispo import CISPO
from groupwise.objectives.gspo import GSPO
from groupwise.objectives.ipo import IPO
from groupwise.objectives.kto import KTO
from groupwise.objectives.orpo import ORPO
from groupwise.objectives.reward_model import RewardModel
from groupwise.objectives.rloo import RLOO
from groupwise.objectives.simpo import SimPO

GOLDEN = json.loads((Path(__file__).parent / "trl-1.16.0.json").read_text())
PAIRS = GOLDEN["dpo"]["inputs"]
SAMPLED = GOLDEN["grpo"]["inputs"]
GRPO_CASES = GOLDEN["grpo"]["cases"]


def cases(*names: str):
    found = [(name, case) for name in names for case in GOLDEN[name]["cases"]]
    return pytest.mark.parametrize(
        ("name", "case"), found, ids=lambda x: str(x["fields"]) if isinstance(x, dict) else x
    )


def double(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def pairs() -> Candidates:
    count = len(PAIRS["chosen"])
    return Candidates(
        logp=double(PAIRS["logp"]),
        logp_ref=double(PAIRS["logp_ref"]),
        mask=torch.tensor(PAIRS["mask"]).bool(),
        group=torch.arange(count).repeat(2),
        score=torch.tensor([1.0] * count + [0.0] * count),
    )


def thumbs(case: dict) -> tuple[Candidates, int]:
    """The pairs' responses as thumbs with the case's mismatched rows after them, and how many are thumbs."""
    inputs, c = GOLDEN["kto"]["inputs"], pairs()
    count, rows = len(c.logp), len(inputs["mismatched_logp"])
    c = Candidates(
        logp=torch.cat([c.logp, double(inputs["mismatched_logp"])]),
        logp_ref=torch.cat([c.logp_ref, double(case["mismatched_logp_ref"])]),
        mask=torch.cat([c.mask, torch.tensor(inputs["mismatched_mask"]).bool()]),
        group=torch.arange(count + rows),
        score=torch.tensor([*inputs["label"], *[1] * rows], dtype=torch.float64),
        mismatched=torch.arange(count + rows) >= count,
    )
    return c, count


def sampled(old: bool = True) -> Candidates:
    return Candidates(
        logp=double(SAMPLED["logp"]),
        logp_ref=double(SAMPLED["logp_ref"]),
        logp_old=double(SAMPLED["logp_old"]) if old else None,
        mask=torch.tensor(SAMPLED["mask"]).bool(),
        group=torch.tensor(SAMPLED["group"]),
        score=double(SAMPLED["score"]),
    )


def assert_same(objective: Objective, c: Candidates, case: dict) -> None:
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12, abs=1e-15)
    torch.testing.assert_close(-implied_weights(objective, c), double(case["gradient"]), rtol=1e-12, atol=1e-15)


@cases("dpo", "ipo", "simpo")
def test_pairs(name, case):
    objective = {"dpo": DPO, "ipo": IPO, "simpo": SimPO}[name](**case["fields"])
    assert_same(objective, objective.prepare(pairs()), case)


def test_ipo_differs_by_default():
    """Theirs averages over a response's tokens; the paper's l is their sum, and so is ours unless length="mean"."""
    case = GOLDEN["ipo"]["cases"][0]
    assert IPO(tau=case["fields"]["tau"])(pairs()).loss.item() != pytest.approx(case["loss"], rel=1e-3)


@cases("orpo")
def test_orpos_odds_ratio(name, case):
    """Theirs in float32. Only this part: their fine-tuning term is over the prompt too, and a mean over tokens."""
    whole, tuning = ORPO(**case["fields"]), ORPO(lam=0.0)
    loss = (whole(pairs()).loss - tuning(pairs()).loss).item()
    gradient = implied_weights(tuning, pairs()) - implied_weights(whole, pairs())
    assert loss == pytest.approx(case["loss"], rel=1e-6)
    torch.testing.assert_close(gradient, double(case["gradient"]), rtol=1e-5, atol=1e-7)


@cases("kto")
def test_kto(name, case):
    c, count = thumbs(case)
    objective = KTO(**case["fields"])
    c = objective.prepare(c)
    assert c.baseline[0].item() == pytest.approx(case["z0"], abs=1e-15)
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12)
    pushes = implied_weights(objective, c)
    assert pushes[count:].count_nonzero() == 0
    torch.testing.assert_close(-pushes[:count], double(case["gradient"]), rtol=1e-12, atol=1e-15)


@cases("reward_model")
def test_reward_model(name, case):
    inputs = GOLDEN["reward_model"]["inputs"]
    value = double(inputs["reward"])[:, None].requires_grad_()
    c = Candidates(
        logp=torch.zeros(6, 1),
        value=value,
        mask=torch.ones(6, 1, dtype=torch.bool),
        group=torch.arange(3).repeat(2),
        score=double([*inputs["margin"], 0.0, 0.0, 0.0]),  # as far apart as their margins
    )
    loss = RewardModel(**case["fields"])(c).loss
    assert loss.item() == pytest.approx(case["loss"], rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, value)
    assert gradient.flatten().tolist() == pytest.approx(case["gradient"], rel=1e-12)


@pytest.mark.parametrize("case", GRPO_CASES, ids=lambda case: f"{case['loss_type']}-old={case['old']}-{case['fields']}")
def test_grpo(case):
    objective = GRPO(**case["fields"])
    c = objective.prepare(sampled(case["old"]))
    advantages = double(case["advantages"])[:, None]
    if case["scale_rewards"] == "group":  # theirs divides by std + 1e-4, ours by std
        std = c.score.view(2, 4).std(1).repeat_interleave(4)[:, None]
        torch.testing.assert_close(c.weight * std / (std + 1e-4), advantages)
    else:
        torch.testing.assert_close(c.weight, advantages)
    assert_same(objective, replace(c, weight=advantages), case)


@cases("gspo", "cispo")
def test_other_ratios(name, case):
    """With their advantages, which divide by std + 1e-4."""
    objective = {"gspo": GSPO, "cispo": CISPO}[name](**case["fields"])
    c = objective.prepare(sampled())
    assert_same(objective, replace(c, weight=double(case["advantages"])[:, None]), case)


@cases("rloo")
def test_rloo(name, case):
    """The KL is taken off the reward before the policy moves: when it still is the one that sampled."""
    objective, c = RLOO(**case["fields"]), sampled()
    prepared = objective.prepare(replace(c, logp=c.logp_old))
    assert prepared.weight.flatten().tolist() == pytest.approx(case["advantages"], rel=1e-12)
    assert_same(objective, replace(prepared, logp=c.logp), case)
