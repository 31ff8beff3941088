"""Settings from YAML and the command line: what is read, and what is refused with its name."""

import pytest

from groupwise.config import build, parse_value, read_yaml
from groupwise.errors import ConfigError
from groupwise.recipe import Recipe
from groupwise.train.loop import TrainConfig
from groupwise.train.optim import OptimizerConfig

RECIPE = {"model": {"path": "tiny"}, "objective": {"name": "sft"}, "data": {"path": "a"}, "train": {"steps": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: {steps: 1}\ntrain: {steps: 2}\n", r"`train` stands here twice(?s:.*)recipe.yaml\", line 2"),
        ("train:\n  steps: 1\n  seed: 0\n  steps: 2\n", r"`steps` stands here twice(?s:.*)line 4"),
        ("when: 2024-99-99\n", "is not YAML: month must be in 1..12"),
        ("deep: " + "[" * 5000, "is not YAML"),
        ("", "must be a mapping"),
    ],
)
def test_yaml_that_cannot_be_meant_is_refused(text, message, tmp_path):
    (tmp_path / "recipe.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_yaml(tmp_path / "recipe.yaml")


def test_a_merged_key_may_be_overridden(tmp_path):
    (tmp_path / "recipe.yaml").write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: *a\n")
    found = read_yaml(tmp_path / "recipe.yaml")
    assert found["b"] == {"x": 3, "y": 2}
    assert found["c"] == {"x": 1, "y": 2}


def test_numbers_with_an_exponent_are_numbers_wherever_they_stand(tmp_path):
    (tmp_path / "recipe.yaml").write_text("reward: {settings: {a: 1e-3, b: [2E3, -.5e1, 1.5e+2], c: 1e-3x}}\n")
    assert read_yaml(tmp_path / "recipe.yaml")["reward"]["settings"] == {
        "a": 0.001,
        "b": [2000.0, -5.0, 150.0],
        "c": "1e-3x",
    }
    assert parse_value("1e-5") == 1e-5
    assert parse_value("infinity") == "infinity"
    assert parse_value("2024-99-99") == "2024-99-99"


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (TrainConfig, {"steps": True}, "`steps` = True: true and false are no numbers"),
        (TrainConfig, {"steps": 1, "max_grad_norm": True}, "`max_grad_norm` = True"),
        (TrainConfig, {"steps": 1, "max_grad_norm": float("inf")}, "`max_grad_norm` = inf: .*finite"),
        (TrainConfig, {"steps": 1, "seed": 10**30}, "train.seed = 10+, must be from 0"),
        (TrainConfig, {"steps": 1, "seed": -1}, "train.seed = -1"),
        (OptimizerConfig, {"learning_rate": float("inf")}, "`learning_rate` = inf: .*finite"),
        (OptimizerConfig, {"learning_rate": 1e300}, "optimizer.learning_rate = 1e[+]300, must be above 0 and at most"),
        (OptimizerConfig, {"weight_decay": 1e300}, "optimizer.weight_decay = 1e[+]300 with learning_rate"),
        (OptimizerConfig, {"betas": [2, 3]}, r"optimizer.betas = \(2.0, 3.0\)"),
        (OptimizerConfig, {"betas": [0.9]}, r"`betas` = \[0.9\]: \[1\] Field required"),
        (OptimizerConfig, {"betas": [True, 0.9]}, "true and false are no numbers"),
        (OptimizerConfig, {"eps": -1.0}, "optimizer.eps = -1.0, must be 0 or more"),
        (OptimizerConfig, {"weight_decay": -1}, "optimizer.weight_decay = -1.0"),
        (OptimizerConfig, {"weight_decay": float("nan")}, "`weight_decay` = nan"),
        (OptimizerConfig, {"warmup_steps": -1}, "optimizer.warmup_steps = -1"),
        (Recipe, {**RECIPE, "objective": "dpo"}, "`objective` = 'dpo', must be a section with settings"),
        (Recipe, {**RECIPE, "data": {"path": "a", "columns": ["a"]}}, r"`data.columns` = \['a'\], must be a section"),
        (Recipe, {**RECIPE, "model": None}, "`model` = None, must be a section with settings"),
        (Recipe, {**RECIPE, "optimizer": None}, "`optimizer` = None, must be a section with settings"),
        (Recipe, {**RECIPE, "evaluate": {"data": {"task": "sums"}}}, "`evaluate.data`: data.size is missing"),
    ],
)
def test_values_that_break_a_rule_are_named(kind, values, message):
    with pytest.raises(ConfigError, match=message):
        build(kind, values)


def test_a_section_that_may_be_left_out_may_be_null():
    assert build(Recipe, {**RECIPE, "evaluate": None}).evaluate is None
