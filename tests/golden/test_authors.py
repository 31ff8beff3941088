"""Losses, gradients and returns of the authors' own code on the same numbers; the file says where they come from."""

import json
from pathlib import Path

import pytest
import torch

from golden.test_trl import PAIRS, double, pairs, thumbs
from groupwise.candidates import Candidates, implied_weights
from groupwise.functional.groups import best_of_group
from groupwise.functional.returns import gae
from groupwise.objectives import DPO
from groupwise.objectives.kto import KTO
from groupwise.objectives.orpo import ORPO
from groupwise.objectives.rrhf import RRHF

GOLDEN = json.loads((Path(__file__).parent / "authors.json").read_text())


def cases(name):
    return pytest.mark.parametrize("case", GOLDEN[name]["cases"], ids=lambda case: str(case.get("fields", "")))


def assert_gradient(objective, c, expected, rows=None):
    """Where the mask is: their code has gradients on padding too, which nothing reads."""
    mask = c.mask[:rows]
    found = -implied_weights(objective, c)[:rows]
    torch.testing.assert_close(found[mask], double(expected)[mask], rtol=1e-12, atol=1e-15)


@cases("halos_dpo")
def test_dpo_of_halos(case):
    objective = DPO(**case["fields"])
    assert objective(pairs()).loss.item() == pytest.approx(case["loss"], rel=1e-12)
    assert_gradient(objective, pairs(), case["gradient"])


@cases("halos_kto")
def test_kto_of_halos(case):
    c, count = thumbs(case)
    objective = KTO(**case["fields"])
    c = objective.prepare(c)
    assert c.baseline[0].item() == pytest.approx(case["z0"], rel=1e-12, abs=1e-15)
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12)
    assert_gradient(objective, c, case["gradient"], rows=count)


def test_their_kto_cases_have_a_reference_point_on_either_side_of_zero():
    points = [case["z0"] for case in GOLDEN["halos_kto"]["cases"]]
    assert max(points) > 0 == min(points)


@pytest.mark.parametrize("case", GOLDEN["halos_gae"]["cases"], ids=lambda case: f"{case['gamma']}-{case['lam']}")
def test_generalized_advantages_of_halos(case):
    inputs = GOLDEN["halos_gae"]["inputs"]
    value, reward, mask = double(inputs["value"]), double(inputs["reward"]), torch.tensor(inputs["mask"]).bool()
    advantage, target = gae(reward, value, mask, gamma=case["gamma"], lam=case["lam"])
    torch.testing.assert_close(advantage[mask], double(case["advantage"])[mask], rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(target[mask], double(case["returns"])[mask], rtol=1e-12, atol=1e-15)


def ranked():
    inputs = GOLDEN["rrhf"]["inputs"]
    return Candidates(
        logp=double(inputs["logp"]),
        mask=torch.tensor(inputs["mask"]).bool(),
        group=torch.zeros(4, dtype=torch.long),
        score=double(inputs["score"]),
    )


def test_rrhf():
    """Theirs is 100 ranking + the best response's mean over its padded width; the paper's and ours is its sum."""
    c, theirs = ranked(), GOLDEN["rrhf"]["as_written"]
    width = c.mask.shape[1]
    objective = RRHF(sft=1 / (100 * width))
    assert RRHF(sft=0.0)(c).loss.item() == pytest.approx(theirs["ranking"], rel=1e-12)
    assert 100 * objective(c).loss.item() == pytest.approx(theirs["loss"], rel=1e-12)
    found = -100 * implied_weights(objective, c)
    torch.testing.assert_close(found[c.mask], double(theirs["gradient"])[c.mask], rtol=1e-12, atol=1e-12)
    best = best_of_group(c.score, c.group)
    assert theirs["tuning"] == pytest.approx(-c.logp[best].sum().item() / width)


def test_rrhf_as_their_trainer_runs_it_divides_by_the_padded_width():
    """It overwrites the labels that mark padding before it counts them. Ours divides by a response's own tokens."""
    c, theirs = ranked(), GOLDEN["rrhf"]["as_run"]
    p = torch.where(c.mask, c.logp, 0.0).sum(1) / c.mask.shape[1]
    assert p.tolist() == pytest.approx(theirs["scores"], rel=1e-12)
    assert RRHF(sft=0.0)(c).loss.item() != pytest.approx(theirs["ranking"], rel=0.1)


@cases("orpo")
def test_orpo(case):
    lengths = [len(row) for row in case["logp"]]
    width = max(lengths)
    c = Candidates(
        logp=double([row + [0.0] * (width - len(row)) for row in case["logp"]]),
        mask=torch.arange(width) < torch.tensor(lengths)[:, None],
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([1.0, 0.0]),
    )
    objective = ORPO(**case["fields"])
    assert objective(c).loss.item() == pytest.approx(case["loss"], rel=1e-12)
    of_mean = -implied_weights(objective, c).sum(1)
    assert of_mean.tolist() == pytest.approx(case["gradient"], rel=1e-12)


def test_inputs_are_those_of_the_other_library():
    assert len(GOLDEN["halos_dpo"]["cases"][0]["gradient"]) == 2 * len(PAIRS["chosen"])
