"""Losses and gradients of another library on the same log-probabilities; the file says where they come from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from groupwise.candidates import Candidates, implied_weights
from groupwise.objectives import DPO, GRPO

GOLDEN = json.loads((Path(__file__).parent / "trl-1.16.0.json").read_text())
GRPO_CASES = GOLDEN["grpo"]["cases"]


def tensors(inputs: dict[str, list[list[float]]], *names: str) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(inputs[name], dtype=torch.float64) for name in names}


@pytest.mark.parametrize("case", GOLDEN["dpo"]["cases"], ids=lambda case: f"{case['loss_type']}-{case['fields']}")
def test_dpo(case):
    inputs = GOLDEN["dpo"]["inputs"]
    pairs = len(inputs["chosen"])
    c = Candidates(
        **tensors(inputs, "logp", "logp_ref"),
        mask=torch.tensor(inputs["mask"]).bool(),
        group=torch.arange(pairs).repeat(2),
        score=torch.tensor([1.0] * pairs + [0.0] * pairs),
    )
    objective = DPO(**case["fields"])
    c = objective.prepare(c)
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12)
    torch.testing.assert_close(-implied_weights(objective, c), torch.tensor(case["gradient"], dtype=torch.float64))


@pytest.mark.parametrize("case", GRPO_CASES, ids=lambda case: f"{case['loss_type']}-old={case['old']}-{case['fields']}")
def test_grpo(case):
    inputs = GOLDEN["grpo"]["inputs"]
    c = Candidates(
        **tensors(inputs, "logp", "score", "logp_ref", *(["logp_old"] if case["old"] else [])),
        mask=torch.tensor(inputs["mask"]).bool(),
        group=torch.tensor(inputs["group"]),
    )
    objective = GRPO(**case["fields"])
    c = objective.prepare(c)
    advantages = torch.tensor(case["advantages"], dtype=torch.float64)[:, None]
    if case["scale_rewards"] == "group":  # theirs divides by std + 1e-4, ours by std
        std = c.score.view(2, 4).std(1).repeat_interleave(4)[:, None]
        torch.testing.assert_close(c.weight * std / (std + 1e-4), advantages)
    else:
        torch.testing.assert_close(c.weight, advantages)
    c = replace(c, weight=advantages)
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12, abs=1e-15)
    torch.testing.assert_close(-implied_weights(objective, c), torch.tensor(case["gradient"], dtype=torch.float64))
