"""Rules between a recipe's settings: one that has no effect is refused by name."""

import pytest

from groupwise.errors import ConfigError
from groupwise.recipe import recipe_of

GIVEN = {"model": {"path": "tiny"}, "objective": {"name": "sft"}, "data": {"path": "a.jsonl"}, "train": {"steps": 1}}
SUMS = {"task": "sums", "size": 9}
SAMPLED = {
    **GIVEN,
    "objective": {"name": "grpo"},
    "data": SUMS,
    "sampling": {"k": 2},
    "reward": {"name": "exact_answer"},
}


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({**GIVEN, "evaluate": {"data": SUMS}}, "evaluate.data.task = 'sums' gives prompts: add the sections"),
        ({**GIVEN, "data": {**SUMS, "kind": "thumb"}}, "data.kind = 'thumb' has no effect with data.task"),
        ({**GIVEN, "model": {"path": ""}}, "model.path = '': give a folder"),
        ({**GIVEN, "model": {"path": "tiny", "reference": ""}}, "model.reference = '': give a folder"),
        ({**SAMPLED, "sampling": {"k": 1}}, "sampling.k = 1: grpo compares candidates"),
        ({**GIVEN, "data": {"path": ""}}, "data.path = '': name a file"),
        ({**SAMPLED, "data": {**SUMS, "kind": "prompt"}}, "data.kind = 'prompt' has no effect with data.task"),
        ({**SAMPLED, "data": {**SUMS, "columns": {"prompt": "q"}}}, "data.columns = .* has no effect with data.task"),
        ({**SAMPLED, "data": {**SUMS, "max_response_tokens": 3}}, "set sampling.max_new_tokens"),
        (
            {**SAMPLED, "evaluate": {"data": {**SUMS, "max_response_tokens": 3}}},
            "evaluate.data.max_response_tokens = 3 has no effect",
        ),
        ({**SAMPLED, "evaluate": {"data": SUMS, "temperature": 1e-300}}, "evaluate.temperature = 1e-300, must be from"),
        ({**GIVEN, "evaluate": {"data": {"path": "b"}, "samples": 4}}, "evaluate.samples = 4 has no effect"),
        ({**GIVEN, "evaluate": {"data": {"path": "b"}, "temperature": 0}}, "evaluate.temperature = 0.0 has no effect"),
        ({**GIVEN, "model": {"path": "tiny", "reference": "other"}}, "model.reference = 'other' has no effect: sft"),
    ],
)
def test_a_setting_without_effect_is_refused(recipe, message):
    with pytest.raises(ConfigError, match=message):
        recipe_of(recipe)
