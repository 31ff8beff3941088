"""The recipes that the sentiment comparison writes can be compared with each other."""

import importlib.util
from pathlib import Path

import pytest

from groupwise.compare import comparison_of


@pytest.fixture
def script():
    path = Path(__file__).parents[2] / "benchmarks" / "compare_sentiment.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_method_at_every_strength_is_judged_alike(script):
    recipes = {
        f"{method}_{value}": script.recipe(method, {setting: value})
        for method, (setting, values) in script.STRENGTHS.items()
        for value in values
    }
    found = comparison_of(recipes, seeds=(0,), tokens=1000)
    assert found.judged_as == "grpo_0.0"
    assert found.unused == ()
    assert (found.reward.name, found.sampling.max_new_tokens) == ("sentiment", 24)
    assert {recipe.optimizer.learning_rate for recipe in found.methods.values()} == {5e-5}
    assert [found.methods[f"dpo_{b}"].build_objective().beta for b in (0.05, 1.0)] == [0.05, 1.0]
