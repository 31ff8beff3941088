"""Every branch of the decision tree, on files that a user might have; what is advised can be trained."""

import json

import pytest
import yaml

from groupwise.advise.check import check
from groupwise.advise.choose import Means, choose
from groupwise.advise.memory import Memory
from groupwise.data.records import scan_records
from groupwise.data.render import Renderer
from groupwise.errors import ConfigError, DataError
from groupwise.models.size import ModelSize, size_of
from groupwise.models.tiny import make_tiny, make_tokenizer
from groupwise.recipe import load_recipe, recipe_of
from groupwise.runner import Runner

PROMPTS = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]
BARE = [{"prompt": f"{i}+1="} for i in range(8)]
DEMOS = [{"prompt": f"{i}+1=", "completion": str(i + 1)} for i in range(8)]
SOLVED = [{**row, "answer": row["completion"]} for row in DEMOS]
THUMBS = [{"prompt": f"{i}+1=", "completion": str(i + 1), "label": i % 2 == 0} for i in range(8)]
LIKED = [row for row in THUMBS if row["label"]]
PAIRS = [{"prompt": f"{i}+1=", "chosen": f"{i + 1}", "rejected": f"{i + 4}"} for i in range(120)]
LONG = [{"prompt": f"{i}+1=", "chosen": f"it is {i + 1}", "rejected": f"{i + 4}"} for i in range(120)]
OPPOSED = [*PAIRS, *({"prompt": r["prompt"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in PAIRS[:9])]


def lists(*scores, key="scores"):
    answers = [f"{i}" for i in range(len(scores))]
    return [{"prompt": f"{i}+1=", "responses": answers, key: list(scores)} for i in range(8)]


def voted(dissent):
    """Three annotators on each of 40 pairs; on every `dissent`-th the third one disagrees."""
    said = []
    for i, row in enumerate(PAIRS[:40]):
        turned = {**row, "chosen": row["rejected"], "rejected": row["chosen"]}
        opinions = (row, row, turned if dissent and i % dissent == 0 else row)
        said += [{**opinion, "annotator": name} for opinion, name in zip(opinions, "abc", strict=True)]
    return said


def chosen(tmp_path, rows, renderer=None, **means):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scan = scan_records(str(path))
    return choose(str(path), check(scan, renderer=renderer), scan.records, Means(**means))


def room(gib, parameters=1e9):
    """So much memory for a model of so many parameters."""
    size = ModelSize(parameters=int(parameters), width=2048, layers=16, positions=2048)
    return {"memory": Memory(size=size, there=gib * 2**30), "size": size, "model": "big"}


TIGHT = room(20)  # 16 GiB for parameters: 14.9 to train, 18.6 with a reference
SMALL = room(12)
AMPLE = room(80)


@pytest.mark.parametrize(
    ("rows", "means", "method", "runner_up"),
    [
        (PROMPTS, {}, "grpo", "rloo"),
        (PROMPTS, {"checker": "yes"}, "grpo", "rloo"),
        (BARE, {"checker": "length"}, "grpo", "rloo"),
        (BARE, {"checker": "length", "critic": True}, "ppo", "grpo"),
        (BARE, {"reward_model": "rm"}, "grpo", "ppo"),
        (BARE, {"reward_model": "rm", "critic": True}, "ppo", "grpo"),
        (BARE, {"reward_model": "rm", "critic": True, **AMPLE}, "ppo", "grpo"),
        (BARE, {"reward_model": "rm", "critic": True, **SMALL}, "grpo", "ppo"),
        (BARE, {"reward_model": "rm", "reference": False}, "grpo", "ppo"),
        (PROMPTS, {"sampling": False}, "sft", "grpo"),
        (DEMOS, {}, "sft", "best_of_n"),
        (SOLVED, {}, "sft", "grpo"),
        (SOLVED, {"checker": "yes"}, "grpo", "rloo"),
        (THUMBS, {}, "kto", "sft"),
        (LIKED, {}, "sft", "kto"),
        (PAIRS, {}, "dpo", "ipo"),
        (PAIRS[:5], {}, "dpo", "ipo"),
        (PAIRS, AMPLE, "dpo", "ipo"),
        (PAIRS, SMALL, "dpo", "ipo"),  # the reference is the model without its adapters
        (PAIRS, TIGHT, "orpo", "simpo"),
        (PAIRS, {**TIGHT, "tuned": True}, "simpo", "orpo"),
        (PAIRS, {**TIGHT, "reference": True}, "dpo", "ipo"),
        (PAIRS, {"reference": False}, "orpo", "simpo"),
        (PAIRS, {"reference": False, "tuned": False}, "orpo", "simpo"),
        (PAIRS, {"reference": False, "tuned": True}, "simpo", "orpo"),
        (PAIRS, {"noise": "high"}, "ipo", "dpo"),
        (OPPOSED, {}, "ipo", "dpo"),
        (OPPOSED, {"noise": "low"}, "dpo", "ipo"),
        (PAIRS[:20], {"noise": "low"}, "ipo", "dpo"),
        (voted(1), {}, "ipo", "dpo"),
        (voted(0), {}, "ipo", "dpo"),
        (voted(8), {}, "dpo", "ipo"),
        (LONG, {}, "dpo", "simpo"),
        (LONG, {"noise": "high"}, "ipo", "dpo"),
        (PAIRS, {"sampling": True}, "reward_model", "dpo"),
        (PAIRS, {"checker": "length"}, "grpo", "rloo"),
        (lists(1, 0), {}, "dpo", "ipo"),
        (lists(3, 1, 2, key="ranks"), {}, "plackett_luce", "rrhf"),
        (lists(1, 2.5, 2.5, 4, key="ranks"), {}, "plackett_luce", "rrhf"),
        (lists(3, 2, 1), {}, "plackett_luce", "rrhf"),
        (lists(3, 1, 2, key="ranks"), {"reference": False}, "rrhf", "best_of_n"),
        (lists(0.9, 0.5, 0.1), {}, "listnet", "plackett_luce"),
        (lists(5, 4, 1), {}, "listnet", "plackett_luce"),
        (lists(1, 0, 0), {}, "best_of_n", "plackett_luce"),
        (lists(0.9, 0.5, 0.1), {"sampling": True}, "reward_model", "dpo"),
    ],
)
def test_the_tree(rows, means, method, runner_up, tmp_path):
    choice = chosen(tmp_path, rows, **means)
    assert (choice.method, choice.runner_up) == (method, runner_up)
    assert recipe_of(choice.recipe).objective["name"] == method
    assert all(reason[0].isupper() or reason[0].isdigit() for reason in choice.reasons)
    assert all(reason.endswith(".") for reason in choice.reasons)


def test_the_reasons_say_what_was_seen(tmp_path):
    assert chosen(tmp_path, PAIRS).reasons[0] == ("120 pairs of a better and a worse response to 120 distinct prompts.")
    assert "9 of 129 judgements (7%) are the opposite of earlier ones." in chosen(tmp_path, OPPOSED).reasons
    assert "Next best is DPO with label_smoothing of about 0.1." in chosen(tmp_path, OPPOSED).reasons
    assert chosen(tmp_path, PROMPTS).reasons[0].startswith("8 prompts (8 distinct)")
    assert chosen(tmp_path, lists(5, 4, 1)).reasons[0] == "8 prompts with up to 3 responses, 24 in all."
    twice = chosen(tmp_path, [*PAIRS, PAIRS[0]])
    assert "1 rows are exactly earlier ones, and are learned as often." in twice.reasons


def test_a_length_bias_is_told_and_taken_out(tmp_path):
    dpo, ipo = chosen(tmp_path, LONG), chosen(tmp_path, LONG, noise="high")
    assert (
        "the longer one in 100% of the rows (95 % interval 97% to 100%), 8 against 2 characters"
        in dpo.reasons[1] + (dpo.reasons[2])
    )
    assert dpo.recipe["objective"] == {"name": "dpo", "beta": 2.0, "length": "mean"}
    assert ipo.recipe["objective"]["length"] == "mean"
    assert chosen(tmp_path, lists(0.1, 0.5, 0.9)).recipe["objective"]["beta"] == 0.1  # all of one length
    answers = ["it is wrong", "it is", "4"]
    rows = [{"prompt": f"{i}+1=", "responses": answers, "scores": [9, 5, 1]} for i in range(40)]
    assert chosen(tmp_path, rows).recipe["objective"]["length"] == "mean"


def test_a_few_longer_ones_are_no_bias(tmp_path):
    mixed = [*LONG[:6], *({**row, "chosen": row["rejected"], "rejected": row["chosen"]} for row in LONG[6:10])]
    assert chosen(tmp_path, mixed).runner_up == "ipo"  # 60 %, and the interval holds 50 %


@pytest.mark.parametrize(
    ("good", "bad", "setting"),
    [(2, 8, "lambda_desirable"), (8, 2, "lambda_undesirable"), (3, 7, "lambda_desirable"), (5, 4, None), (4, 3, None)],
)
def test_unbalanced_thumbs_are_weighed_within_the_papers_range(good, bad, setting, tmp_path):
    rows = [{"prompt": f"{i}", "completion": "x", "label": i < good} for i in range(good + bad)]
    objective = chosen(tmp_path, rows).recipe["objective"]
    assert {name for name in objective if name.startswith("lambda")} == ({setting} if setting else set())
    weighed = objective.get("lambda_desirable", 1) * good / (objective.get("lambda_undesirable", 1) * bad)
    assert 1 <= weighed <= 4 / 3


def test_votes_are_joined_into_rows_with_a_confidence(tmp_path):
    choice = chosen(tmp_path, voted(1))
    assert choice.recipe["data"]["annotators"] == "majority"
    assert "Two annotators of one pair agree in 33% only." in choice.reasons
    assert "Next best is DPO with the confidence of each row." in choice.reasons
    assert any("120 judgements of 3 annotators became 40 records" in reason for reason in choice.reasons)
    assert "of the 40 rows" in choice.reasons[-1]


def test_the_temperature_of_listnet_is_the_scores_own_distance(tmp_path):
    assert chosen(tmp_path, lists(90, 50, 10)).recipe["objective"]["temperature"] == 40


def test_memory_is_counted(tmp_path):
    full, adapted = chosen(tmp_path, PAIRS, **AMPLE), chosen(tmp_path, PAIRS, **SMALL)
    assert "lora" not in full.recipe["model"]
    assert adapted.recipe["model"]["lora"]["rank"] == 16
    assert adapted.recipe["model"]["dtype"] == "bfloat16"
    assert "1.0 billion parameters take 15 GiB to train (16 bytes each)" in adapted.reasons[-2]
    assert (full.recipe["optimizer"]["learning_rate"], adapted.recipe["optimizer"]["learning_rate"]) == (1e-6, 1e-5)
    with pytest.raises(ConfigError, match="take a smaller model"):
        room(2)


def test_activations_get_what_is_left():
    memory = room(40)["memory"]
    left = 40 * 2**30 - 20e9
    assert memory.max_tokens(reference=True, checkpointing=False) == int(left / (16 * 2048 * 68))
    assert memory.max_tokens(reference=False, checkpointing=False) > int(left / (16 * 2048 * 68))
    assert memory.max_tokens(reference=True, checkpointing=True) == 16384  # never more than the default
    assert room(18.7)["memory"].max_tokens(reference=True, checkpointing=False) == 512  # nor next to nothing


def test_little_room_for_activations_means_recomputing_them(tmp_path):
    assert "gradient_checkpointing" not in chosen(tmp_path, PAIRS, **AMPLE).recipe["model"]
    recipe = chosen(tmp_path, PAIRS, **room(24)).recipe
    assert recipe["model"]["gradient_checkpointing"] is True
    assert "max_tokens" not in recipe["train"]  # training's own is no longer too much
    little = room(4, parameters=130e6)
    recipe = chosen(tmp_path, PAIRS, **little).recipe
    assert recipe["train"]["max_tokens"] == little["memory"].max_tokens(reference=True, checkpointing=True) < 16384


def test_sizes_are_read_without_weights(tmp_path):
    path = make_tiny(tmp_path / "model")
    (path / "model.safetensors").unlink()
    assert size_of(path) == size_of("tiny")
    assert (size_of("tiny").width, size_of("tiny").layers, size_of("tiny").positions) == (128, 4, 512)


def test_what_the_model_has_no_positions_for_is_cut(tmp_path):
    rows = [*DEMOS, {"prompt": "1+1=", "completion": "2" * 600}]
    choice = chosen(tmp_path, rows, Renderer(make_tokenizer()), size=size_of("tiny"))
    limits = {name: choice.recipe["data"][name] for name in ("max_prompt_tokens", "max_response_tokens", "truncate")}
    assert limits == {"max_prompt_tokens": 256, "max_response_tokens": 256, "truncate": True}
    assert "truncate" not in chosen(tmp_path, DEMOS, Renderer(make_tokenizer()), size=size_of("tiny")).recipe["data"]


def test_answers_in_words_are_compared_as_a_whole(tmp_path):
    rows = [{"prompt": "Is 2 even?", "answer": "yes"}, {"prompt": "Is 3 even?", "answer": "no"}]
    assert chosen(tmp_path, rows).recipe["reward"] == {"name": "exact_answer", "settings": {"extract": "whole"}}
    with pytest.raises(ConfigError, match="no model gives to the letter"):
        chosen(tmp_path, [{"prompt": "Why?", "answer": "Because of this and that, " * 3}])


@pytest.mark.parametrize(
    ("rows", "means", "message"),
    [
        (PROMPTS, {"checker": "no"}, "--checker REWARD or --reward-model PATH.*--sampling no learns the answers"),
        (BARE, {}, "8 prompts without responses, 0 of them with an answer"),
        (BARE, {"sampling": False}, "8 prompts without responses"),
        ([*PROMPTS, BARE[0]], {}, "data.jsonl:9: has no answer, and so 1 of 9 rows"),
        (PROMPTS, {"checker": "lenght"}, "Did you mean `length`"),
        (PROMPTS, {"checker": "length", "sampling": False}, "'length' judges what the model writes"),
        (PAIRS, {"critic": True}, "a critic learns from rewards"),
        (lists(1, 1, 1), {}, "none has two different scores"),
        (lists(1), {}, "none has two different scores"),
        ([{**row, "label": False} for row in DEMOS], {}, "all 8 responses are marked bad"),
        ([{"text": "once"}], {"checker": "length"}, "data.jsonl:1: has no prompt"),
        ([*DEMOS, *PAIRS], {}, r"\(8 demonstration, 120 pair\).*two stages of one recipe"),
        ([*THUMBS, *PAIRS], {}, r"force one reading with --data.kind$"),
        ([*PAIRS, {"prompt": ""}], {}, "data.jsonl:121: `prompt` is empty"),
        ([*PAIRS, {**PAIRS[0], "confidence": 0.9}], {}, "1 of 121 rows have a confidence"),
    ],
)
def test_what_cannot_be_learned_from_says_the_way_out(rows, means, message, tmp_path):
    with pytest.raises((ConfigError, DataError), match=message):
        chosen(tmp_path, rows, **means)


def test_the_file_says_why_each_setting_is_what_it_is(tmp_path):
    choice = chosen(tmp_path, PAIRS, **{**room(3, parameters=700e6), "noise": "high"})
    text = choice.as_yaml()
    assert yaml.safe_load(text)["objective"] == choice.recipe["objective"]
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    assert load_recipe(path) == recipe_of(choice.recipe)
    assert text.startswith("# ipo, chosen because\n# - 120 pairs")
    assert "  tau: 0.1  # draws each pair to a margin of 1 / (2 tau) = 5 nats" in text
    assert "10 times that for adapters" in text
    assert "  max_tokens: " in text
    assert "left for activations" in text


TRAINED = [
    pytest.param(DEMOS, {}, id="sft"),
    pytest.param(THUMBS, {}, id="kto"),
    pytest.param(voted(1), {}, id="ipo"),
    pytest.param(PAIRS[:8], {"sampling": True}, id="reward_model"),
    pytest.param(lists(3, 1, 2, key="ranks"), {}, id="plackett_luce"),
    pytest.param(lists(0.9, 0.5, 0.1), {}, id="listnet"),
    pytest.param(PROMPTS, {"sampling": False}, id="sft_of_answers"),
    pytest.param(PROMPTS, {}, id="grpo"),
    pytest.param(PAIRS[:8], {"checker": "length", "critic": True}, id="ppo"),
]


@pytest.mark.parametrize(("rows", "means"), TRAINED)
def test_the_recipe_trains(rows, means, tmp_path):
    recipe = chosen(tmp_path, rows, Renderer(make_tokenizer()), size=size_of("tiny"), **means).recipe
    assert recipe["train"]["steps"] * recipe["train"]["groups_per_step"] >= 8
    recipe["train"] |= {"steps": 2}
    recipe["optimizer"]["warmup_steps"] = 0
    assert len(list(Runner(recipe_of(recipe), tmp_path / "run").steps())) == 2
    assert (tmp_path / "run" / "model" / "config.json").is_file()
