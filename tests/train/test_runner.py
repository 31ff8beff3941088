"""Whole runs from recipes: what they write, that a killed one goes on to the same bits, and what bad input gets."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
import yaml
from safetensors.torch import load_file

from groupwise.config import read_yaml
from groupwise.errors import ConfigError, DataError, GroupwiseError
from groupwise.recipe import load_recipe, recipe_directory, recipe_of
from groupwise.runner import Runner
from groupwise.runs.read import read_run
from groupwise.stages import is_pipeline_recipe, pipeline_of

SUMS = {"task": "sums", "size": 50, "settings": {"digits": 1}}
SAMPLED = {"sampling": {"k": 4, "max_new_tokens": 3}, "reward": {"name": "exact_answer"}}


@pytest.fixture
def files(tmp_path):
    demonstrations = [{"prompt": f"{a}+{b}=", "completion": str(a + b)} for a in range(6) for b in range(6)]
    pairs = [
        {"prompt": f"{a}+{b}=", "chosen": str(a + b), "rejected": str(a + b + 1)} for a in range(6) for b in range(6)
    ]
    for name, rows in (("sft", demonstrations), ("dpo", pairs)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def settings(name, files, **train):
    data = SUMS if name == "grpo" else {"path": str(files / f"{name}.jsonl")}
    more = SAMPLED if name == "grpo" else {}
    train = {"steps": 6, "groups_per_step": 4, "save_every": 2, **train}
    recipe = {"model": {"path": "tiny"}, "objective": {"name": name}, "data": data, "train": train, **more}
    return {**recipe, "optimizer": {"learning_rate": 1e-3, "schedule": "cosine", "warmup_steps": 2}}


def finish(recipe, directory, **how):
    return list(Runner(recipe_of(recipe), directory, **how).steps())


def weights(directory):
    return load_file(directory / "model" / "model.safetensors")


@pytest.mark.parametrize("name", ["sft", "dpo", "grpo"])
def test_a_killed_run_resumes_to_the_same_bits(name, files, tmp_path):
    recipe = settings(name, files)
    finish(recipe, tmp_path / "whole")
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    command = [
        sys.executable,
        "-m",
        "groupwise",
        "train",
        str(tmp_path / "recipe.yaml"),
        "--run",
        str(tmp_path / "cut"),
    ]
    process = subprocess.Popen([*command, "--train.steps", "6"], stderr=subprocess.DEVNULL, env=dict(os.environ))
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cut" / "checkpoints").glob("step_*")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finish(recipe, tmp_path / "cut", resume=True)
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    assert all(torch.equal(whole[key], cut[key]) for key in whole)
    steps = [record["step"] for record in read_run(tmp_path / "cut").metrics()]
    assert steps == sorted(set(steps)) == list(range(6))


def test_a_run_resumed_from_its_middle_equals_an_uninterrupted_one(files, tmp_path):
    recipe = settings("grpo", files)
    finish(recipe, tmp_path / "whole")
    steps = Runner(recipe_of(recipe), tmp_path / "cut").steps()
    for _ in range(5):  # stopped in step 5, after the checkpoint of step 4
        next(steps)
    steps.close()
    reports = finish(recipe, tmp_path / "cut", resume=True)
    assert [report.step for report in reports] == [4, 5]
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert all(torch.equal(whole[key], cut[key]) for key in whole)


def test_what_a_run_writes(files, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    finish(settings("grpo", files), tmp_path / "run")
    view = read_run(tmp_path / "run")
    assert view.state == "finished"
    assert len(view.metrics()) == 6
    group = next(iter(view.groups(0)))
    assert len(group.completions) == 4
    assert all(len(c.logprobs) == len(c.token_ids) == len(c.weights) for c in group.completions)
    assert view.config["optimizer"]["betas"] == [0.9, 0.999]
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run" / "model")
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)


def test_equal_rewards_change_nothing_and_say_so(files, tmp_path):
    (tmp_path / "same.py").write_text("def same(row, text):\n    return 0.5\n")
    recipe = settings("grpo", files, steps=2)
    recipe["reward"] = {"name": f"{tmp_path}/same.py:same"}
    recipe["optimizer"] = {"learning_rate": 1e-2, "weight_decay": 0.1}
    finish(recipe, tmp_path / "run")
    before, after = load_file(tmp_path / "run" / "base" / "model.safetensors"), weights(tmp_path / "run")
    assert all(torch.equal(before[key], after[key]) for key in before)
    view = read_run(tmp_path / "run")
    assert [event.kind for event in view.events()] == ["no_signal", "no_signal"]
    assert all("tokens/decode" in m and "tokens/forward" not in m for m in view.metrics())  # nothing is computed for it
    assert all(set(c.weights) == {0.0} for group in view.groups() for c in group.completions)


def test_a_reward_that_raises_shows_the_sample_and_the_run_says_it_failed(files, tmp_path):
    (tmp_path / "bad.py").write_text("def bad(row, text):\n    raise RuntimeError('no idea')\n")
    recipe = settings("grpo", files)
    recipe["reward"] = {"name": f"{tmp_path}/bad.py:bad"}
    with pytest.raises(GroupwiseError, match="no idea"):
        finish(recipe, tmp_path / "run")
    assert read_run(tmp_path / "run").state == "failed"
    recipe["reward"]["on_error"] = "unjudged"
    with pytest.raises(GroupwiseError, match="none of the 16 completions could be judged"):
        finish(recipe, tmp_path / "unjudged")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimiser": {}}, "Did you mean `optimizer`"),
        ({"objective": {"name": "grpo", "clip_hi": 0.2}}, r"objective.clip_hi.*Did you mean `clip_high`"),
        ({"objective": {"name": "grpoo"}}, "Did you mean `grpo`"),
        ({"train": {"steps": "many"}}, "train.steps"),
        ({"train": {"steps": 0}}, "train.steps = 0, must be 1 or more"),
        ({"reward": None}, "sampled candidates need both"),
        ({"objective": {"name": "sft"}}, "have no effect"),
        ({"sampling": {"k": 1}}, "give 2 or more"),
    ],
)
def test_bad_settings_are_named(change, message, files):
    with pytest.raises(ConfigError, match=message):
        recipe_of({**settings("grpo", files), **change})


def test_the_wrong_kind_of_data_is_named(files, tmp_path):
    recipe = settings("dpo", files)
    recipe["data"] = {"path": str(files / "sft.jsonl")}
    with pytest.raises(DataError, match=r"sft.jsonl:1.*demonstration.*chosen/rejected"):
        finish(recipe, tmp_path / "run")


@pytest.mark.parametrize("kind", ["pair", "candidates", "prompt"])
def test_sft_does_not_learn_what_the_data_marks_as_worse(kind, files, tmp_path):
    recipe = settings("sft", files)
    recipe["data"] = {"path": str(files / "dpo.jsonl"), "kind": kind}
    with pytest.raises(ConfigError, match=f"data.kind = '{kind}': sft learns every response"):
        finish(recipe, tmp_path / "run")


def test_rows_beyond_the_models_positions_are_named_before_training(files, tmp_path):
    long = {"prompt": "1" * 600, "completion": "1"}
    (files / "sft.jsonl").write_text(json.dumps(long) + "\n")
    with pytest.raises(DataError, match=r"sft.jsonl:1: prompt and response come to 602 tokens.* 512 positions"):
        finish(settings("sft", files), tmp_path / "given")
    recipe = settings("grpo", files)
    recipe["sampling"] = {"k": 2, "max_new_tokens": 600}
    with pytest.raises(DataError, match=r"sums:0: .* 604 tokens, the model has 512 positions"):
        finish(recipe, tmp_path / "sampled")


def test_an_overwritten_run_starts_from_a_model_of_its_own_seed(files, tmp_path):
    finish(settings("sft", files, steps=1), tmp_path / "run")
    finish(settings("sft", files, steps=1, seed=5), tmp_path / "run", overwrite=True)
    finish(settings("sft", files, steps=1, seed=5), tmp_path / "fresh")
    again, fresh = weights(tmp_path / "run"), weights(tmp_path / "fresh")
    assert all(torch.equal(again[key], fresh[key]) for key in fresh)


def test_weights_that_diverged_are_not_saved(files, tmp_path):
    runner = Runner(recipe_of(settings("sft", files, steps=1)), tmp_path / "run")
    steps = runner.steps()
    next(steps)
    with torch.no_grad():
        runner.policy.parameters()[3][0] = torch.inf  # as a step that was far too large leaves them
    with pytest.raises(
        GroupwiseError, match=r"after step 0, 1 tensors of weights are NaN or infinite, .*learning_rate"
    ):
        next(steps)
    assert read_run(tmp_path / "run").state == "failed"
    assert not read_run(tmp_path / "run").checkpoints()
    assert not (tmp_path / "run" / "model").exists()


@pytest.mark.parametrize("damage", ["missing", "cut", "random"])
def test_a_damaged_checkpoint_is_named_with_a_way_out(damage, files, tmp_path):
    recipe = settings("sft", files, steps=2)
    finish(recipe, tmp_path / "run")
    saved = tmp_path / "run" / "checkpoints" / "step_00000002" / "model" / "trained.safetensors"
    if damage == "random":
        torch.save({}, saved.parent.parent / "random.pt")
    elif damage == "missing":
        saved.unlink()
    else:
        saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"step_00000002 cannot be gone on with .*remove this checkpoint"):
        finish(recipe, tmp_path / "run", resume=True)


def test_why_completions_are_unjudged_stands_in_the_events(files, tmp_path):
    (tmp_path / "odd.py").write_text("def odd(row, text):\n    return len(text) if row['answer'] > '5' else 1 / 0\n")
    recipe = settings("grpo", files, steps=1)
    recipe["reward"] = {"name": f"{tmp_path}/odd.py:odd", "on_error": "unjudged"}
    finish(recipe, tmp_path / "run")
    event = next(event for event in read_run(tmp_path / "run").events() if event.kind == "unjudged")
    assert "the first: sums:" in event.message
    assert "ZeroDivisionError" in event.message


@pytest.mark.parametrize(
    ("scores", "message"),
    [([None, None], "no response has a score"), ([1, 1], "none of the 1 prompts has two responses with different")],
)
def test_held_out_rows_that_say_nothing_are_named_before_training(scores, message, files, tmp_path):
    (files / "held.jsonl").write_text(json.dumps({"prompt": "1", "responses": ["1", "2"], "scores": scores}))
    recipe = {**settings("dpo", files), "evaluate": {"data": {"path": str(files / "held.jsonl")}}}
    with pytest.raises(DataError, match=f"evaluate.data: {message}"):
        finish(recipe, tmp_path / "run")


def test_held_out_rows_that_were_cut_are_counted(files, tmp_path):
    held = {"path": str(files / "dpo.jsonl"), "max_prompt_tokens": 2, "truncate": True}
    finish({**settings("dpo", files, steps=1), "evaluate": {"data": held}}, tmp_path / "run")
    cut = [event.message for event in read_run(tmp_path / "run").events() if event.kind == "truncated"]
    assert cut == ["36 prompts or responses were cut to the limits in `evaluate.data`"]


def test_characters_that_the_tokenizer_does_not_know_are_counted(files, tmp_path):
    rows = [{"prompt": "ä", "completion": "1"}, {"prompt": "1", "completion": "ß"}, {"prompt": "2", "completion": "3"}]
    (files / "sft.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    finish(settings("sft", files, steps=1), tmp_path / "run")
    said = [event.message for event in read_run(tmp_path / "run").events() if event.kind == "unknown_tokens"]
    assert len(said) == 1
    assert said[0].startswith("2 prompts or responses of `data` have characters unknown to the tokenizer")


def test_a_gradient_too_large_for_its_norm_names_the_rows(files, tmp_path):
    recipe = settings("dpo", files)
    recipe["objective"] = {"name": "dpo", "beta": 1e30}
    with pytest.raises(GroupwiseError, match=r"the gradient is not finite on dpo.jsonl:\d+ completion 0.*no step was"):
        finish(recipe, tmp_path / "run")


def test_a_critic_may_be_the_model_made_on_the_spot(files, tmp_path):
    recipe = {**settings("grpo", files, steps=1), "objective": {"name": "ppo"}}
    recipe["model"] = {"path": "tiny", "critic": "tiny"}
    assert len(finish(recipe, tmp_path / "run")) == 1


OBJECTIVE = """
from dataclasses import dataclass
from groupwise.candidates import Loss, Objective

@dataclass(frozen=True, kw_only=True)
class Mine(Objective):
    def __call__(self, c):
        return """


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (OBJECTIVE + "c.token_mean(c.logp)", "must return a Loss whose `loss` is a scalar"),
        (OBJECTIVE + "None", "must return a Loss"),
        (OBJECTIVE + "Loss(c.token_mean(c.logp).detach())", "computed from `c.logp`"),
        (OBJECTIVE + "Loss(c.token_mean(c.logp) * float('nan'))", r"the loss is nan on dpo.jsonl:\d+ completion 0"),
        (OBJECTIVE + "Loss((c.token_mean(c.logp) * 0).sqrt())", r"the gradient is not finite on dpo.jsonl:\d+"),
        (OBJECTIVE.replace("@dataclass(frozen=True, kw_only=True)", "") + "None", "Mine must be a dataclass"),
        (OBJECTIVE.replace("__call__", "call") + "None", "with a method __call__"),
        ("import sys; sys.exit(2)", "cannot be imported: SystemExit: 2"),
    ],
)
def test_a_users_objective_that_breaks_its_contract(code, message, files, tmp_path):
    (tmp_path / "mine.py").write_text(code)
    recipe = settings("dpo", files)
    recipe["objective"] = {"name": str(tmp_path / "mine.py")}
    with pytest.raises(GroupwiseError, match=message):
        finish(recipe, tmp_path / "run")


@pytest.mark.parametrize("path", sorted(recipe_directory().glob("*.yaml")), ids=lambda path: path.stem)
def test_every_recipe_parses(path):
    values, overrides = read_yaml(path), {"train.steps": 30}
    stages = pipeline_of(values, overrides).stages if is_pipeline_recipe(values) else ()
    recipes = [stage.recipe for stage in stages] or [load_recipe(path, overrides)]
    assert {recipe.train.steps for recipe in recipes} == {30}
    assert path.read_text().startswith("# ")  # what `groupwise list recipes` says of it
