"""Comparisons: who is judged how, what stays on the disk, what a second call does, and what is refused by name."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

from groupwise.cli.main import main
from groupwise.compare import Comparer, comparison_of
from groupwise.config import read_yaml
from groupwise.errors import ConfigError, DataError
from groupwise.evaluate.comparison_files import notes
from groupwise.recipe import brought_recipes, load_recipe
from groupwise.registry import objective_names
from groupwise.runs.read import read_run

SUMS = {"task": "sums", "size": 20, "settings": {"digits": 1}}
COMMON = {"model": {"path": "tiny"}, "train": {"steps": 2, "groups_per_step": 4}, "optimizer": {"learning_rate": 1e-3}}
HELD_OUT = {"data": {**SUMS, "split": "heldout", "size": 6}, "every": 1}
GRPO = {
    **COMMON,
    "objective": {"name": "grpo"},
    "data": SUMS,
    "sampling": {"k": 4, "max_new_tokens": 4},
    "reward": {"name": "length", "settings": {"target": 3, "unit": "characters"}},
    "evaluate": HELD_OUT,
}
DPO = {**COMMON, "objective": {"name": "dpo"}, "data": {**SUMS, "kind": "pair"}}
BOTH = {"dpo": DPO, "grpo": GRPO}


def finish(comparison, directory):
    comparer = Comparer(comparison, directory)
    trained = [(run.method, run.seed, len(list(run.steps()))) for run in comparer.left()]
    return comparer, trained


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    directory = tmp_path_factory.mktemp("compared") / "out"
    _, trained = finish(comparison_of(BOTH, seeds=(0, 1)), directory)
    assert trained == [("dpo", 0, 2), ("grpo", 0, 2), ("dpo", 1, 2), ("grpo", 1, 2)]
    return directory


def numbers(directory):
    def refused(name):
        raise AssertionError(f"{name} in strict JSON")

    return json.loads((directory / "compare.json").read_text(), parse_constant=refused)


def test_an_offline_method_is_judged_by_samples_as_the_first_that_samples_says(compared):
    found = numbers(compared)
    assert found["judge"]["reward"]["name"] == "length"
    assert found["judge"]["sampling"] | {"k": 1, "max_new_tokens": 4} == found["judge"]["sampling"]
    assert [(run["method"], run["seed"]) for run in found["runs"]] == [
        ("dpo", 0), ("dpo", 1), ("grpo", 0), ("grpo", 1)
    ]  # fmt: skip
    for run in found["runs"]:
        assert (run["state"], run["steps"], run["error"]) == ("finished", 2, None)
        assert [point["step"] for point in run["curve"]] == [1, 2]  # evaluate.every
        assert run["curve"][-1]["tokens"] == run["tokens"] > run["curve"][0]["tokens"] > 0
        assert run["start"]["kl"] == 0
        assert len(run["scores"]) == len(run["start_scores"]) == 6
        assert run["curve"][-1]["score"]["value"] == pytest.approx(sum(run["scores"]) / 6)
    assert all(run["curve"][-1]["kl"] != 0 for run in found["runs"])
    starts = {(run["seed"], run["start"]["score"]["value"]) for run in found["runs"]}
    assert len(starts) == 2  # one start a seed, the same for both methods


def test_intervals_are_over_seeds_and_differences_of_the_same_seeds(compared):
    found = numbers(compared)
    dpo, grpo = found["methods"]
    ends = {m: [r["curve"][-1]["score"]["value"] for r in found["runs"] if r["method"] == m] for m in BOTH}
    assert (dpo["over"], dpo["difference"], grpo["difference_over"]) == ("seeds", None, "seeds")
    for method in (dpo, grpo):
        of = ends[method["method"]]
        assert method["score"]["value"] == pytest.approx(sum(of) / 2)
        half = 12.7062 * abs(of[0] - of[1]) / 2  # t(0.975, 1) times the standard error of two
        assert method["score"]["high"] - method["score"]["value"] == pytest.approx(half, abs=1e-4)
    gains = [b - a for a, b in zip(ends["dpo"], ends["grpo"], strict=True)]
    assert grpo["difference"]["value"] == pytest.approx(sum(gains) / 2)


def test_runs_are_ordinary_run_directories_and_charts_are_xml(compared):
    for name in ("dpo-seed0", "grpo-seed1"):
        run = read_run(compared / name)
        assert run.state == "finished"
        assert run.config["train"]["seed"] == int(name[-1])
        assert [step for step, _ in run.series()["heldout/score"]] == [0, 1]
        assert (compared / name / "model" / "config.json").is_file()
    assert {path.stem for path in compared.glob("*.svg")} == {"score_kl", "score_tokens", "length"}
    for path in compared.glob("*.svg"):
        labels = [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        assert {*BOTH} <= {*labels}
    table = (compared / "compare.md").read_text()
    assert "| dpo |" in table
    assert "Student's t over the seeds" in table


def test_a_second_call_trains_nothing_and_further_methods_and_seeds_are_added(compared, tmp_path):
    before = (compared / "compare.json").read_text()
    assert finish(comparison_of(BOTH, seeds=(0, 1)), compared)[1] == []
    assert (compared / "compare.json").read_text() == before
    directory = tmp_path / "out"
    finish(comparison_of({"grpo": GRPO}, seeds=(0,)), directory)
    assert finish(comparison_of(BOTH, seeds=(0,)), directory)[1] == [("dpo", 0, 2)]
    assert numbers(directory)["methods"][0]["over"] == "prompts"


@pytest.mark.parametrize(
    ("recipes", "overrides", "seeds", "message"),
    [
        (BOTH, {"train.steps": 3}, (0, 1), "methods.dpo.train.steps was 2, is 3"),
        (BOTH, {"evaluate.samples": 2}, (0, 1), "judge.evaluate.samples was 1, is 2"),
        ({"grpo": GRPO}, {}, (0, 1), "dpo is left out"),
        (BOTH, {}, (1,), "seed 0 is left out"),
    ],
)
def test_changed_settings_are_refused_by_name(recipes, overrides, seeds, message, compared):
    with pytest.raises(ConfigError, match=message):
        Comparer(comparison_of(recipes, overrides, seeds=seeds), compared)


def test_a_run_that_stopped_goes_on_and_measures_the_same(compared, tmp_path):
    values = {name: {**recipe, "train": {**recipe["train"], "save_every": 1}} for name, recipe in BOTH.items()}
    comparer = Comparer(comparison_of(values, seeds=(0,)), tmp_path)
    left = comparer.left()
    steps = next(left).steps()
    next(steps), next(steps)
    steps.close()
    left.close()
    assert comparer.results()[0].state == "unfinished"
    comparer, trained = finish(comparison_of(values, seeds=(0,)), tmp_path)
    assert trained == [("dpo", 0, 1), ("grpo", 0, 2)]  # one of dpo's steps was in its checkpoint
    expected = {(run["method"], run["seed"]): run for run in numbers(compared)["runs"]}
    for run in comparer.results():
        whole = expected[run.method, run.seed]
        assert run.scores == whole["scores"]
        assert [m.score.value for m in run.curve] == [point["score"]["value"] for point in whole["curve"]]


def test_every_method_stops_after_the_step_that_reaches_the_tokens(tmp_path):
    comparer, _ = finish(comparison_of(BOTH, seeds=(0,), tokens=120), tmp_path)
    for run in comparer.results():
        computed = [record["tokens/computed"] for record in read_run(tmp_path / f"{run.method}-seed0").metrics()]
        assert sum(computed) == run.tokens >= 120 > sum(computed[:-1])


WILD = """
from dataclasses import dataclass, replace
from groupwise.objectives import DPO

@dataclass(frozen=True, kw_only=True)
class Wild(DPO):
    factor: float = 1.0

    def __call__(self, c):
        out = DPO.__call__(self, c)
        return replace(out, loss=out.loss * self.factor)

    def after_step(self, stats):
        return replace(self, factor=float("inf"))
"""


def test_a_run_that_diverges_is_counted_shown_and_not_tried_again(tmp_path):
    (tmp_path / "wild.py").write_text(WILD)
    values = {"grpo": GRPO, "wild": {**DPO, "objective": {"name": f"{tmp_path / 'wild.py'}"}}}
    tmp_path = tmp_path / "out"
    comparer, _ = finish(comparison_of(values, seeds=(0,)), tmp_path)
    wild = comparer.results()[1]
    assert (wild.state, wild.steps) == ("diverged", 1)
    assert "the loss is" in wild.error
    method = numbers(tmp_path)["methods"][1]
    assert (method["runs"], method["finished"], method["diverged"], method["score"]) == (1, 0, 1, None)
    assert "0 of 1, 1 diverged" in (tmp_path / "compare.md").read_text()
    assert any("wild with seed 0 diverged after" in note for note in notes(comparer.results()))
    assert "wild (none)" in (tmp_path / "score_kl.svg").read_text()
    assert finish(comparison_of(values, seeds=(0,)), tmp_path)[1] == []


def test_overrides_of_the_judge_do_not_reach_methods_that_do_not_sample():
    found = comparison_of({"dpo": DPO}, {"sampling.max_new_tokens": 5, "evaluate": HELD_OUT, "reward.name": "length",
        "reward.settings.target": 2, "train.steps": 7})  # fmt: skip
    assert found.methods["dpo"].sampling is None
    assert found.methods["dpo"].train.steps == 7
    assert (found.sampling.k, found.sampling.max_new_tokens, found.reward.name) == (1, 5, "length")
    both = comparison_of(BOTH, {"sampling.max_new_tokens": 5, "evaluate.samples": 3})
    assert both.methods["grpo"].sampling.max_new_tokens == both.sampling.max_new_tokens == 5
    assert (both.sampling.k, both.evaluate.samples) == (3, 3)


def test_an_evaluate_that_is_not_used_is_told():
    other = {**GRPO, "evaluate": {"data": {**SUMS, "split": "heldout", "size": 3}}}
    assert comparison_of({"grpo": GRPO, "other": other}).unused == ("other",)
    assert comparison_of({"grpo": GRPO, "other": other}).judged_as == "grpo"


@pytest.mark.parametrize(
    ("recipes", "overrides", "seeds", "message"),
    [
        (BOTH, {}, (0, 0), "no seed twice"),
        ({"a": GRPO, "b": {**GRPO, "model": {"path": "other"}}}, {}, (0,), "model.path = 'tiny' of a and 'other' of b"),
        ({"a": {"stages": []}}, {}, (0,), "a: it has stages"),
        ({"a": {**DPO, "objective": {"name": "reward_model"}}}, {}, (0,), "a: .* trains a model that scores"),
        ({"a": GRPO}, {"train.step": 3}, (0,), "a: .*Did you mean `steps`"),
        ({"a": DPO}, {}, (0,), "`evaluate` of a recipe that samples, and there is none"),
        ({"a": DPO}, {"evaluate": HELD_OUT}, (0,), "--sampling.max_new_tokens"),
        ({"a": DPO}, {"evaluate": HELD_OUT, "sampling.max_new_tokens": 4}, (0,), "--evaluate.reward.name"),
    ],
)
def test_what_is_refused_before_anything_is_made(recipes, overrides, seeds, message):
    with pytest.raises(ConfigError, match=message):
        comparison_of(recipes, overrides, seeds=seeds)


def test_data_that_cannot_be_read_stops_it_before_the_first_run(tmp_path):
    missing = {**DPO, "data": {"path": str(tmp_path / "pairs.jsonl")}}
    with pytest.raises(DataError, match=r"late: .*pairs\.jsonl"):
        Comparer(comparison_of({"grpo": GRPO, "late": missing}, seeds=(0,)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="files that are not a comparison's"):
        Comparer(comparison_of({"grpo": GRPO}, seeds=(0,)), tmp_path)


def test_the_verb(tmp_path, capsys):
    for name, recipe in BOTH.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(recipe))
    files = [str(tmp_path / f"{name}.yaml") for name in BOTH]
    arguments = ["compare", *files, "--seeds", "3", "--run", str(tmp_path / "out"), "--train.steps", "1"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "Held-out samples, judged alike" in shown.out
    assert "compare.json" in shown.out
    assert "2/2 grpo seed 3" in shown.err
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == numbers(tmp_path / "out")
    assert main(["compare", files[0], files[0], "--run", str(tmp_path / "twice")]) == 2
    assert "two recipes are called 'dpo'" in capsys.readouterr().err
    assert main(["compare", *files, "--seeds", "a"]) == 2


def test_the_recipes_of_the_comparison_on_sums_go_together():
    brought = {name.removeprefix("compare/"): path for name, path in brought_recipes().items() if "/" in name}
    start = load_recipe(brought.pop("start"))
    assert start.objective["name"] == "sft"
    found = comparison_of({name: read_yaml(path) for name, path in brought.items()}, seeds=(0,), tokens=1000)
    assert {recipe.objective["name"] for recipe in found.methods.values()} == {*objective_names()} - {
        "sft",
        "reward_model",
    }
    assert found.unused == ()
    assert found.reward.name == "exact_answer"
    assert all(path.read_text().startswith("# ") for path in brought.values())
