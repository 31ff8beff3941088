"""Every branch of the decision tree, on files that a user might have; what is advised can be trained."""

import json

import pytest

from groupwise.advise.check import check
from groupwise.advise.choose import Means, choose
from groupwise.advise.memory import Memory
from groupwise.data.records import scan_records
from groupwise.errors import ConfigError, DataError
from groupwise.models.load import parameters_of
from groupwise.models.tiny import make_tiny
from groupwise.recipe import recipe_of
from groupwise.runner import Runner

PROMPTS = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]
DEMOS = [{"prompt": f"{i}+1=", "completion": str(i + 1)} for i in range(8)]
THUMBS = [{"prompt": f"{i}+1=", "completion": str(i + 1), "label": i % 2 == 0} for i in range(8)]
PAIRS = [{"prompt": f"{i}+1=", "chosen": f"{i + 1}", "rejected": f"{i + 4}"} for i in range(120)]
LONG = [{"prompt": f"{i}+1=", "chosen": f"it is {i + 1}", "rejected": f"{i + 4}"} for i in range(120)]
OPPOSED = [*PAIRS, *({"prompt": r["prompt"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in PAIRS[:9])]


def lists(*scores):
    answers = [f"{i}" for i in range(len(scores))]
    return [{"prompt": f"{i}+1=", "responses": answers, "scores": list(scores)} for i in range(8)]


def chosen(tmp_path, rows, **means):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scan = scan_records(str(path))
    return choose(str(path), check(scan), scan.records, Means(model="tiny", **means))


TIGHT = Memory(parameters=100, there=100 * 18 / 0.8)  # all parameters, but no reference beside them
SMALL = Memory(parameters=100, there=1000)
AMPLE = Memory(parameters=100, there=1e6)


@pytest.mark.parametrize(
    ("rows", "means", "method", "runner_up"),
    [
        (PROMPTS, {}, "grpo", "rloo"),
        (PROMPTS, {"checker": "length"}, "grpo", "rloo"),
        (PROMPTS, {"checker": "yes"}, "grpo", "rloo"),
        (PROMPTS, {"reward_model": "rm"}, "grpo", "ppo"),
        (PROMPTS, {"reward_model": "rm", "critic": True}, "ppo", "grpo"),
        (DEMOS, {}, "sft", "best_of_n"),
        ([{**row, "answer": "1"} for row in DEMOS], {}, "sft", "grpo"),
        (THUMBS, {}, "kto", "sft"),
        (PAIRS, {}, "dpo", "ipo"),
        (PAIRS, {"memory": AMPLE}, "dpo", "ipo"),
        (PAIRS, {"reference": False}, "simpo", "orpo"),
        (PAIRS, {"reference": False, "chat": False}, "orpo", "simpo"),
        (PAIRS, {"memory": TIGHT}, "simpo", "orpo"),
        (PAIRS, {"memory": SMALL}, "dpo", "ipo"),
        (PAIRS, {"noise": "high"}, "ipo", "dpo with label_smoothing"),
        (OPPOSED, {}, "ipo", "dpo with label_smoothing"),
        (OPPOSED, {"noise": "low"}, "dpo", "ipo"),
        (PAIRS[:20], {}, "ipo", "dpo"),
        (LONG, {}, "dpo", "simpo"),
        (lists(1, 0), {}, "ipo", "dpo"),
        (lists(3, 2, 1), {}, "plackett_luce", "rrhf"),
        (lists(3, 2, 1), {"reference": False}, "rrhf", "best_of_n"),
        (lists(0.9, 0.5, 0.1), {}, "listnet", "plackett_luce"),
        (lists(1, 0, 0), {}, "best_of_n", "plackett_luce"),
    ],
)
def test_the_tree(rows, means, method, runner_up, tmp_path):
    choice = chosen(tmp_path, rows, **means)
    assert (choice.method, choice.runner_up) == (method, runner_up)
    assert len(choice.reasons) >= 1
    assert recipe_of(choice.recipe).objective["name"] == method


def test_the_reasons_say_what_was_seen(tmp_path):
    assert "120 pairs" in chosen(tmp_path, PAIRS).reasons[0]
    assert "9 rows (7 %) are the opposite" in " ".join(chosen(tmp_path, OPPOSED).reasons)
    assert "the longer one in 100 % (97 .. 100)" in " ".join(chosen(tmp_path, LONG).reasons)
    assert chosen(tmp_path, LONG).recipe["objective"]["length"] == "mean"


@pytest.mark.parametrize(
    ("good", "bad", "setting", "ratio"), [(2, 8, "lambda_desirable", 1.0), (8, 2, "lambda_undesirable", 4 / 3)]
)
def test_unbalanced_thumbs_are_weighed(good, bad, setting, ratio, tmp_path):
    rows = [{"prompt": f"{i}", "completion": "x", "label": i < good} for i in range(good + bad)]
    objective = chosen(tmp_path, rows).recipe["objective"]
    weights = {"lambda_desirable": 1.0, "lambda_undesirable": 1.0} | objective
    assert setting in objective
    assert weights["lambda_desirable"] * good / (weights["lambda_undesirable"] * bad) == pytest.approx(ratio, abs=1e-3)


def test_too_little_memory_for_all_parameters_means_adapters(tmp_path):
    choice = chosen(tmp_path, PAIRS, memory=SMALL)
    assert choice.recipe["model"]["lora"]["rank"] == 16
    assert "of 0.0 GiB (80%" in " ".join(choice.reasons)


def test_parameters_are_counted_without_reading_weights(tmp_path):
    path = make_tiny(tmp_path / "model")
    (path / "model.safetensors").unlink()
    assert parameters_of(path) > 100_000


def test_what_cannot_be_learned_from_says_the_way_out(tmp_path):
    with pytest.raises(ConfigError, match="give --checker REWARD or --reward-model PATH"):
        chosen(tmp_path, PROMPTS, checker="no")
    with pytest.raises(ConfigError, match="0 of 2 with an answer"):
        chosen(tmp_path, [{"prompt": "a"}, {"prompt": "b"}])
    with pytest.raises(DataError, match=r"holds 8 demonstration, 120 pair"):
        chosen(tmp_path, [*DEMOS, *PAIRS])


@pytest.mark.parametrize("rows", [DEMOS, THUMBS, lists(3, 2, 1)], ids=["sft", "kto", "plackett_luce"])
def test_the_recipe_trains(rows, tmp_path):
    recipe = chosen(tmp_path, rows).recipe
    recipe["train"]["steps"] = 1
    recipe["optimizer"]["warmup_steps"] = 0
    assert [report.metrics["optimizer/grad_norm"] > 0 for report in Runner(recipe_of(recipe), tmp_path / "r").steps()]
