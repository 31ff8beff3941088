"""Pipelines: what stages start from, what is refused before any trains, a killed one goes on to the same bits."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from groupwise.cli.main import main
from groupwise.errors import ConfigError, DataError, TrainingError
from groupwise.pipeline import PipelineRunner
from groupwise.runs import lock
from groupwise.runs.pipeline import read_pipeline, read_pipeline_config
from groupwise.runs.read import read_run
from groupwise.stages import pipeline_of

SUMS = {"task": "sums", "size": 40, "settings": {"digits": 1}}
SAMPLED = {"sampling": {"k": 4, "max_new_tokens": 3}, "reward": {"name": "exact_answer"}}
SFT = {"name": "sft", "objective": {"name": "sft"}, "data": {"kind": "demonstration"}}
GRPO = {"name": "grpo", "objective": {"name": "grpo"}, **SAMPLED}
SCORES = {"name": "scores", "objective": {"name": "reward_model"}, "data": {"kind": "pair"}}
PPO = {
    "name": "ppo",
    "objective": {"name": "ppo"},
    "model": {"critic": "stages.scores"},
    "sampling": {"k": 2, "max_new_tokens": 3},
    "reward": {"name": "model", "settings": {"path": "stages.scores"}},
    "evaluate": {"data": {**SUMS, "split": "heldout", "size": 4}, "reward": {"name": "exact_answer"}},
}


def values(*stages, steps=2, **common):
    train = {"steps": steps, "groups_per_step": 4, "save_every": 1}
    return {
        "model": {"path": "tiny"},
        "data": SUMS,
        "train": train,
        "optimizer": {"learning_rate": 1e-3},
        **common,
        "stages": list(stages),
    }


def finish(runner):
    return [(stage.name, report.step) for stage in runner.stages() for report in stage.runner().steps()]


def assert_equal_models(one, other):
    one, other = (load_file(directory / "model.safetensors") for directory in (one, other))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_sft_reward_model_ppo(tmp_path, capsys):
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(values(SFT, SCORES, PPO)))
    run = tmp_path / "run"
    assert main(["train", str(tmp_path / "recipe.yaml"), "--run", str(run), "--stages.scores.train.steps", "3"]) == 0
    shown = capsys.readouterr().out
    assert "scores: reward_model" in shown
    assert "(of stage ppo)" in shown
    pipeline = read_pipeline(run)
    assert pipeline.state == "finished"
    assert pipeline.stages["scores"].config["model"]["path"] == str(run / "sft" / "model")
    assert pipeline.stages["ppo"].config["model"]["path"] == str(run / "sft" / "model")
    assert pipeline.stages["ppo"].config["model"]["critic"] == str(run / "scores" / "model")
    assert pipeline.stages["ppo"].config["reward"]["settings"]["path"] == str(run / "scores" / "model")
    summary = pipeline.summary()
    assert [(s.name, s.objective, s.steps) for s in summary.stages] == [
        ("sft", "sft", 2), ("scores", "reward_model", 3), ("ppo", "ppo", 2)
    ]  # fmt: skip
    assert all(stage.seconds > 0 and stage.tokens > 0 for stage in summary.stages)
    assert "loss/nll" in summary.stages[0].metrics
    assert summary.stages[0].heldout_after == {}
    assert "heldout/pass_at_1" in summary.stages[2].heldout_before  # the checker's, not the reward model's
    assert summary.model == "ppo"
    assert_equal_models(run / "model", run / "ppo" / "model")
    with pytest.raises(DataError, match="is a pipeline's directory: give one of its stages"):
        read_run(run)


def killed_during(stage, recipe, run):
    """Train in another process, and kill it once `stage` has a checkpoint."""
    command = [sys.executable, "-m", "groupwise", "train", str(recipe), "--run", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list((run / stage / "checkpoints").glob("step_*")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_a_killed_pipeline_resumes_to_the_same_bits(stage, tmp_path):
    recipe = values(SFT, GRPO, steps=6)
    finish(PipelineRunner(pipeline_of(recipe), tmp_path / "whole"))
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    killed_during(stage, tmp_path / "recipe.yaml", tmp_path / "cut")
    assert read_pipeline(tmp_path / "cut").state in ("killed", "finished")
    assert main(["train", "--resume", str(tmp_path / "cut")]) == 0
    whole, cut = read_pipeline(tmp_path / "whole"), read_pipeline(tmp_path / "cut")
    assert cut.state == "finished"
    for name in ("sft", "grpo"):
        assert_equal_models(whole.path / name / "model", cut.path / name / "model")
        assert [record["step"] for record in cut.stages[name].metrics()] == list(range(6))
    assert_equal_models(whole.path / "model", cut.path / "model")


def test_one_stopped_between_its_stages_goes_on_with_the_next(tmp_path):
    runner = PipelineRunner(pipeline_of(values(SFT, GRPO)), tmp_path / "run")
    stages = runner.stages()
    list(next(stages).runner().steps())
    stages.close()  # the first stage's summary was not yet written
    assert not (tmp_path / "run" / "summary.json").exists()
    assert read_pipeline(tmp_path / "run").state == "killed"
    (tmp_path / "run").rename(tmp_path / "moved")
    pipeline = pipeline_of(read_pipeline_config(tmp_path / "moved"))
    before = (tmp_path / "moved" / "sft" / "status.json").read_text()
    assert finish(PipelineRunner(pipeline, tmp_path / "moved", resume=True)) == [("grpo", 0), ("grpo", 1)]
    assert (tmp_path / "moved" / "sft" / "status.json").read_text() == before
    assert [stage.name for stage in read_pipeline(tmp_path / "moved").summary().stages] == ["sft", "grpo"]
    assert finish(PipelineRunner(pipeline, tmp_path / "moved", resume=True)) == []


def test_a_stage_that_is_left_half_trained_is_no_start_for_the_next(tmp_path):
    stages = PipelineRunner(pipeline_of(values(SFT, GRPO)), tmp_path / "run").stages()
    next(stages)
    with pytest.raises(TrainingError, match="stage sft was not trained to its end"):
        next(stages)


def test_a_directory_is_replaced_only_when_asked_and_only_what_is_its_own(tmp_path):
    finish(PipelineRunner(pipeline_of(values(SFT, steps=1)), tmp_path / "run"))
    (tmp_path / "run" / "notes.txt").write_text("mine")
    other = pipeline_of(values({**SFT, "name": "tuned"}, steps=1))
    with pytest.raises(ConfigError, match="already holds a pipeline"):
        PipelineRunner(other, tmp_path / "run")
    finish(PipelineRunner(other, tmp_path / "run", overwrite=True))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        ".lock", "model", "notes.txt", "pipeline.yaml", "summary.json", "tuned"
    ]  # fmt: skip
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="files that are not a pipeline's"):
        PipelineRunner(other, tmp_path / "other", overwrite=True)


def test_another_process_that_trains_it_is_respected(tmp_path):
    runner = PipelineRunner(pipeline_of(values(SFT)), tmp_path / "run")
    assert read_pipeline(tmp_path / "run").state == "running"
    code = "import sys; from groupwise.cli.main import main; sys.exit(main(['train', '--resume', sys.argv[1]]))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is being written by another process" in done.stderr
    lock.release(runner.directory)


def test_the_guides_pipeline_is_one():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "pipelines.md").read_text()
    scores, ppo = pipeline_of(yaml.safe_load(page.split("```yaml")[1].split("```")[0])).stages[1:]
    assert [stage.recipe.model.path for stage in (scores, ppo)] == ["stages.sft", "stages.sft"]
    assert ppo.recipe.optimizer.warmup_steps == 5
    assert ppo.recipe.data.kind is None


def test_settings_in_common_and_a_stages_own():
    pipeline = pipeline_of(
        values(
            {**SFT, "train": {"steps": 7}},
            {
                **GRPO,
                "name": "own",
                "model": {"path": "other"},
                "reward": {"name": "length", "settings": {"target": 3}},
            },
            {"name": "both", "objective": {"name": "dpo"}, "model": {"reference": "stages.sft"}, "data": {"path": "a"}},
            model={"path": "tiny", "dtype": "bfloat16"},
        ),
        {"train.steps": 9, "train.seed": 1, "stages.own.train.steps": 5, "model.path": "start"},
    )
    sft, own, both = (stage.recipe for stage in pipeline.stages)
    assert [recipe.train.steps for recipe in (sft, own, both)] == [9, 5, 9]
    assert {recipe.train.seed for recipe in (sft, own, both)} == {1}
    assert [recipe.model.path for recipe in (sft, own, both)] == ["start", "start", "stages.own"]
    assert {recipe.model.dtype for recipe in (sft, own, both)} == {"bfloat16"}
    assert (both.data.path, both.data.task) == ("a", None)
    assert pipeline_of(pipeline.resolved()).resolved() == pipeline.resolved()


@pytest.mark.parametrize(
    ("stages", "overrides", "message"),
    [
        ([], {}, "must be a list of stages"),
        ([{"objective": {"name": "sft"}}], {}, r"stages\[0\].name = None"),
        ([SFT, SFT], {}, r"stages\[1\].name = 'sft'"),
        ([{**SFT, "name": "model"}], {}, r"stages\[0\].name = 'model'"),
        ([{**SFT, "name": "../sft"}], {}, r"stages\[0\].name = '../sft'"),
        ([SFT, {**GRPO, "optimiser": {}}], {}, "stage grpo: .*Did you mean `optimizer`"),
        ([SFT, {**GRPO, "model": {"path": "stages.stf"}}], {}, "stage grpo: model.path.*Did you mean `sft`"),
        ([{**SFT, "model": {"path": "stages.sft"}}], {}, "model.path = 'stages.sft': no earlier stage"),
        (
            [SFT, SCORES, {**PPO, "model": {"path": "stages.scores"}}],
            {},
            "model.path = 'stages.scores' is not the model",
        ),
        (
            [SFT, SCORES, {**PPO, "reward": {"name": "model", "settings": {"path": "stages.sft"}}}],
            {},
            "reward.settings.path = 'stages.sft' is not the model.*reward_model",
        ),
        ([SFT], {"stages.stf.train.steps": 1}, "--stages.stf.train.steps: write.*Did you mean `sft`"),
        ([SFT], {"train.steps": 0}, "stage sft: train.steps = 0"),
    ],
)
def test_what_is_refused_before_anything_is_made(stages, overrides, message):
    with pytest.raises(ConfigError, match=message):
        pipeline_of(values(*stages), overrides)


def test_the_last_stages_data_and_reward_are_known_good_before_the_first_trains(tmp_path):
    missing = {"name": "dpo", "objective": {"name": "dpo"}, "data": {"path": str(tmp_path / "pairs.jsonl")}}
    with pytest.raises(DataError, match=r"stage dpo: .*pairs\.jsonl"):
        PipelineRunner(pipeline_of(values(SFT, missing)), tmp_path / "run")
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "1+1=", "completion": "2"}) + "\n")
    with pytest.raises(DataError, match=r"stage dpo: .*compares responses"):
        PipelineRunner(pipeline_of(values(SFT, missing)), tmp_path / "run")
    wrong = {**GRPO, "reward": {"name": "exact_answers"}}
    with pytest.raises(ConfigError, match=r"stage grpo: .*exact_answer"):
        PipelineRunner(pipeline_of(values(SFT, wrong)), tmp_path / "run")
    assert not (tmp_path / "run").exists()
