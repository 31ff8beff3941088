"""A budget of tokens: where a run stops, that it goes on as if it had not been stopped, and where its rate ends."""

import pytest
import torch
from safetensors.torch import load_file

from groupwise.errors import ConfigError
from groupwise.recipe import recipe_of
from groupwise.runner import Runner
from groupwise.runs.read import read_run


def recipe(**train):
    return recipe_of(
        {
            "model": {"path": "tiny"},
            "objective": {"name": "grpo"},
            "data": {"task": "sums", "size": 40, "settings": {"digits": 1}},
            "sampling": {"k": 8, "max_new_tokens": 3},
            "reward": {"name": "length", "settings": {"target": 2, "unit": "characters"}},
            "train": {"steps": 100, "groups_per_step": 2, "save_every": 2, **train},
            "optimizer": {"learning_rate": 1e-3, "schedule": "linear"},
        }
    )


def test_a_run_stops_after_the_step_that_reaches_its_tokens(tmp_path):
    reports = list(Runner(recipe(tokens=120), tmp_path).steps())
    computed = [report.metrics["tokens/computed"] for report in reports]
    assert sum(computed) >= 120 > sum(computed[:-1])
    assert [report.last for report in reports] == [False] * (len(reports) - 1) + [True]
    status = read_run(tmp_path).status
    assert (status.state, status.step, status.steps) == ("finished", len(reports), len(reports))
    assert (tmp_path / "model").is_dir()
    moved = [report.metrics for report in reports if report.metrics["optimizer/grad_norm"]]
    rates = [metrics["optimizer/learning_rate"] for metrics in moved]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(1e-3 / len(reports))  # the last step of a linear fall to 0
    assert list(Runner(recipe(tokens=120), tmp_path, resume=True).steps()) == []  # nothing is left
    assert read_run(tmp_path).status.steps == len(reports)


def test_steps_still_end_a_run_that_has_tokens_left(tmp_path):
    reports = list(Runner(recipe(tokens=10**6, steps=3), tmp_path).steps())
    assert [report.last for report in reports] == [False, False, True]


def test_a_stopped_run_counts_what_it_had_computed(tmp_path):
    whole = list(Runner(recipe(tokens=150), tmp_path / "whole").steps())
    steps = Runner(recipe(tokens=150), tmp_path / "cut").steps()
    for _ in range(3):
        next(steps)
    steps.close()
    rest = list(Runner(recipe(tokens=150), tmp_path / "cut", resume=True).steps())
    assert [report.step for report in rest] == [report.step for report in whole[2:]]
    one, other = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"train\.tokens = 0, must be 1 or more"):
        recipe(tokens=0)
