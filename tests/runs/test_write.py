import json
import math
from pathlib import Path

import pytest

from groupwise.errors import ConfigError, DataError
from groupwise.runs.read import read_run
from groupwise.runs.write import Run

LOGS = ("metrics.jsonl", "groups.jsonl", "events.jsonl")


def strict(line):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(line, parse_constant=refuse)


def test_what_is_written_is_read_back(tmp_path, group):
    config = {
        "train": {"seed": 3, "steps": 2},
        "lr": 1e-6,
        "betas": (0.9, 0.95),
        "data": {"path": Path("a/b.jsonl"), "name": "ä"},
    }
    with Run.create(tmp_path / "run", config=config, devices=["cpu"]) as run:
        for step in range(2):
            run.log_groups(step, [group(step), group(step, score=None, text="\ud800 \u2028 é")])
            run.event(step, "no_signal", "all rewards are equal", groups=[1, 2])
            run.log(step, {"loss/total": step + 0.5, "reward/mean": 1})
        run.finish(accuracy=0.5)
    seen = read_run(tmp_path / "run")
    assert seen.config == {
        "train": {"seed": 3, "steps": 2}, "lr": 1e-6, "betas": [0.9, 0.95], "data": {"path": "a/b.jsonl", "name": "ä"},
    }  # fmt: skip
    assert (seen.state, seen.status.step, seen.status.steps, seen.status.summary) == (
        "finished",
        2,
        2,
        {"accuracy": 0.5},
    )
    assert seen.env.seed == 3
    assert seen.env.processes[0].devices == ["cpu"]
    assert seen.env.processes[0].packages["torch"]
    assert seen.series() == {"loss/total": [(0, 0.5), (1, 1.5)], "reward/mean": [(0, 1.0), (1, 1.0)]}
    first, second = seen.groups(1)
    assert first.completions == group(1).completions
    assert (first.prompt_ids, first.origin, first.prompt) == ([1, 3, 4], "sums:1", "2 + 2 =")
    assert (second.completions[0].score, second.completions[0].text) == (None, "\ud800 \u2028 é")
    assert [g.step for g in seen.groups()] == [0, 0, 1, 1]
    assert list(seen.groups(12)) == []
    assert [(e.step, e.kind, e.level, e.details) for e in seen.events()] == [
        (0, "no_signal", "warning", {"groups": [1, 2]}),
        (1, "no_signal", "warning", {"groups": [1, 2]}),
    ]


def test_numbers_that_are_not_finite_are_null(tmp_path, group):
    run = Run.create(tmp_path, config={})
    run.log(0, {"loss/total": math.nan, "grad/norm": math.inf, "loss/kl": 1.0})
    run.log_groups(0, [group(0, score=math.nan)])
    run.event(0, "non_finite", "the loss is not finite", values=(math.nan, -math.inf, {"x": math.inf}))
    run.finish(best=math.nan)
    for name in LOGS:
        lines = (tmp_path / name).read_text().splitlines()
        assert lines
        assert all(strict(line) for line in lines)
    assert strict((tmp_path / "status.json").read_text())["summary"] == {"best": None}
    seen = read_run(tmp_path)
    assert seen.metrics()[0]["loss/total"] is None
    assert seen.metrics()[0]["grad/norm"] is None
    assert math.isnan(seen.series()["loss/total"][0][1])
    assert seen.series()["loss/kl"] == [(0, 1.0)]
    assert seen.events()[0].details == {"values": [None, None, {"x": None}]}


def test_a_directory_in_use_is_refused(tmp_path):
    run = Run.create(tmp_path / "run", config={"a": 1})
    run.log(0, {"loss/total": 1.0})
    run.finish()
    with pytest.raises(ConfigError, match=r"already holds a run.*--resume"):
        Run.create(tmp_path / "run", config={"a": 2})
    assert read_run(tmp_path / "run").config == {"a": 1}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("dear")
    for overwrite in (False, True):
        with pytest.raises(ConfigError, match=r"not a run's \(thesis.tex\)"):
            Run.create(tmp_path / "home", config={}, overwrite=overwrite)
        with pytest.raises(ConfigError, match="is a file"):
            Run.create(tmp_path / "home" / "thesis.tex", config={}, overwrite=overwrite)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "dear"


def test_overwrite_removes_the_run_and_nothing_else(tmp_path):
    run = Run.create(tmp_path, config={"a": 1})
    run.log(0, {"loss/total": 1.0})
    run.save_checkpoint(1, lambda directory: None)
    run.save_model(lambda directory: (directory / "x").write_text("old"))
    run.finish()
    (tmp_path / "notes.txt").write_text("mine")
    again = Run.create(tmp_path, config={"a": 2}, overwrite=True)
    assert (again.step, again.latest_checkpoint()) == (0, None)
    seen = read_run(tmp_path)
    assert (seen.config, seen.metrics(), seen.env.processes[0].step) == ({"a": 2}, [], 0)
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    again.finish()


def test_a_configuration_that_yaml_cannot_hold(tmp_path):
    with pytest.raises(ConfigError, match=r"reward\.f\[1\] = .*function"):
        Run.create(tmp_path / "run", config={"reward": {"f": [1, strict]}})
    assert not (tmp_path / "run").exists()


def test_a_metric_without_group(tmp_path):
    run = Run.create(tmp_path, config={})
    with pytest.raises(ConfigError, match="<group>/<name>"):
        run.log(0, {"total": 1.0})
    run.finish()
    assert read_run(tmp_path).metrics() == []


def test_groups_of_another_step(tmp_path, group):
    run = Run.create(tmp_path, config={})
    with pytest.raises(ValueError, match="step 4 was logged at step 0"):
        run.log_groups(0, [group(4)])
    run.finish()


def test_lengths_of_a_completion(group):
    from dataclasses import replace

    completion = group(0).completions[0]
    with pytest.raises(ValueError, match="weights has 3 entries"):
        replace(completion, weights=[1, 2, 3])
    with pytest.raises(ValueError, match="logprobs has 1 entries for 2"):
        replace(completion, logprobs=[1])


def test_how_a_run_ends_is_recorded(tmp_path):
    def end(name, error=None):
        run = Run.create(tmp_path / name, config={})
        with run:
            assert read_run(tmp_path / name).state == "running"
            if error:
                raise error
        return read_run(tmp_path / name)

    assert end("finished").state == "finished"
    with pytest.raises(ZeroDivisionError):
        end("failed", ZeroDivisionError("of the loss"))
    failed = read_run(tmp_path / "failed")
    assert (failed.state, failed.status.error.type) == ("failed", "ZeroDivisionError")
    assert failed.status.error.message == "of the loss"
    assert "raise error" in failed.status.error.traceback
    with pytest.raises(KeyboardInterrupt):
        end("interrupted", KeyboardInterrupt())
    assert (read_run(tmp_path / "interrupted").state, read_run(tmp_path / "interrupted").status.error) == (
        "interrupted",
        None,
    )
    with Run.resume(tmp_path / "failed"):
        assert read_run(tmp_path / "failed").status.error is None


def logged(path, group, steps, *, every):
    run = Run.create(path, config={"seed": 1})
    for step in range(steps):
        run.log_groups(step, [group(step)])
        run.event(step, "kind", "message")
        run.log(step, {"loss/total": float(step)})
        if (step + 1) % every == 0:
            run.save_checkpoint(step + 1, lambda directory: (directory / "x").write_text("whole"))
    return run


def test_resume_goes_back_to_the_newest_whole_checkpoint(tmp_path, group):
    logged(tmp_path, group, 5, every=3).finish("interrupted")
    half = tmp_path / "checkpoints" / ".step_00000006.0123abcd.partial"
    half.mkdir()
    run = Run.resume(tmp_path)
    assert (run.step, run.latest_checkpoint().name, run.config) == (3, "step_00000003", {"seed": 1})
    assert not half.exists()
    seen = read_run(tmp_path)
    assert [row["step"] for row in seen.metrics()] == [0, 1, 2]
    assert [g.step for g in seen.groups()] == [0, 1, 2]
    assert [e.step for e in seen.events()] == [0, 1, 2]
    assert (seen.state, seen.status.step, seen.status.checkpoint) == ("running", 3, "checkpoints/step_00000003")
    assert [process.step for process in seen.env.processes] == [0, 3]
    run.finish()


def test_resume_without_checkpoint_starts_anew(tmp_path, group):
    logged(tmp_path, group, 2, every=3).finish("interrupted")
    run = Run.resume(tmp_path)
    assert (run.step, run.latest_checkpoint()) == (0, None)
    assert [(tmp_path / name).read_bytes() for name in LOGS] == [b"", b"", b""]
    run.finish()


def test_resume_of_what_is_no_run(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match=r"no config\.yaml"):
            Run.resume(path)


def test_a_stop_while_the_run_is_created(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.yaml.partial").write_text("a:")
    Run.create(tmp_path, config={"a": 1}).finish()
    for name in ("env.json", "status.json", *LOGS):
        (tmp_path / name).unlink()
    run = Run.resume(tmp_path)
    assert (run.step, run.config, read_run(tmp_path).state) == (0, {"a": 1}, "running")
    run.finish()


def test_resume_survives_a_lost_status(tmp_path, group):
    logged(tmp_path, group, 3, every=3).finish()
    (tmp_path / "status.json").write_bytes(b"")
    Run.resume(tmp_path).finish()
    assert [process.step for process in read_run(tmp_path).env.processes] == [0, 3]


def test_damage_past_the_checkpoint_is_cut_off(tmp_path, group):
    logged(tmp_path, group, 4, every=3).finish()
    metrics = tmp_path / "metrics.jsonl"
    sound = metrics.read_bytes().splitlines(keepends=True)[:3]
    with metrics.open("ab") as file:
        file.write(b'\x00\x00\n{"step": 4, "ti')
    Run.resume(tmp_path).finish()
    assert metrics.read_bytes().splitlines(keepends=True) == sound


def test_damage_before_the_checkpoint_is_an_error(tmp_path, group):
    logged(tmp_path, group, 4, every=3).finish()
    metrics = tmp_path / "metrics.jsonl"
    lines = metrics.read_bytes().splitlines(keepends=True)
    damaged = b"".join([lines[0], b"\x00\x00\n", *lines[2:]])
    metrics.write_bytes(damaged)
    with pytest.raises(DataError, match=r"metrics\.jsonl: the line before byte \d+ is damaged"):
        Run.resume(tmp_path)
    assert metrics.read_bytes() == damaged


def test_only_the_newest_checkpoints_stay(tmp_path, group):
    run = logged(tmp_path, group, 6, every=1)
    assert [c.name for c in read_run(tmp_path).checkpoints()] == ["step_00000005", "step_00000006"]
    run.keep_checkpoints = 1
    run.save_checkpoint(7, lambda directory: None)
    assert [c.name for c in read_run(tmp_path).checkpoints()] == ["step_00000007"]
    run.keep_checkpoints = 0
    with pytest.raises(ConfigError, match="keep_checkpoints = 0"):
        run.save_checkpoint(8, lambda directory: None)
    run.finish()


def test_another_rank_sees_the_run_and_writes_nothing(tmp_path, group):
    logged(tmp_path, group, 4, every=3).finish("interrupted")
    leading = Run.resume(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with Run.join(tmp_path) as other:
        assert (other.step, other.latest_checkpoint(), other.config) == (3, leading.latest_checkpoint(), {"seed": 1})
        for write in (
            lambda: other.log(3, {"loss/total": 1.0}),
            lambda: other.save_checkpoint(4, lambda directory: None),
        ):
            with pytest.raises(AssertionError, match="only the leading rank writes"):
                write()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    leading.finish()


def test_the_configuration_says_how_many_checkpoints_stay(tmp_path):
    run = Run.create(tmp_path, config={"train": {"keep_checkpoints": 3}})
    for step in range(1, 6):
        run.save_checkpoint(step, lambda directory: None)
    assert [c.name for c in read_run(tmp_path).checkpoints()] == ["step_00000003", "step_00000004", "step_00000005"]
    run.finish()


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path, group):
    run = logged(tmp_path, group, 3, every=3)

    def fail(directory):
        (directory / "half").write_text("half")
        raise OSError("disk full")

    for step in (3, 4):
        with pytest.raises(OSError, match="disk full"):
            run.save_checkpoint(step, fail)
    assert [c.name for c in (tmp_path / "checkpoints").iterdir()] == ["step_00000003"]
    assert (run.latest_checkpoint() / "x").read_text() == "whole"
    run.finish()


@pytest.mark.parametrize("name", ["metrics.jsonl", "groups.jsonl"])
def test_records_that_were_lost_are_said_at_the_resumption(name, tmp_path, group):
    logged(tmp_path, group, 4, every=4).finish("interrupted")
    lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
    Run.resume(tmp_path).finish("interrupted")
    assert not [event for event in read_run(tmp_path).events() if event.kind == "lost_records"]
    (tmp_path / name).write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:9])
    Run.resume(tmp_path).finish("interrupted")
    lost = [event for event in read_run(tmp_path).events() if event.kind == "lost_records"]
    assert len(lost) == 1
    assert f"{name} holds no record of 2 of the 4 steps" in lost[0].message
