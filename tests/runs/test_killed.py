"""A writer killed with SIGKILL at any moment leaves a run that reads, and resumes as if nothing had happened."""

import json
import os
import random
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from groupwise.errors import ConfigError
from groupwise.runs.read import read_lines, read_run
from groupwise.runs.schema import EVENTS, GROUPS, METRICS
from groupwise.runs.write import Run

WRITER = Path(__file__).parent / "killed_writer.py"
spec = spec_from_file_location("killed_writer", WRITER)
killed_writer = module_from_spec(spec)
spec.loader.exec_module(killed_writer)


def start(path):
    writer = subprocess.Popen([sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"started\n"
    writer.stdout.close()
    return writer


def whole(checkpoint):
    contents = {file.name: set(file.read_text().split()) for file in checkpoint.iterdir()}
    step = str(int(checkpoint.name.removeprefix("step_")))
    return contents == {"weights": {step}, "optimizer": {step}, "state": {step}}


def without_time(path):
    found = {}
    for name in (METRICS, GROUPS, EVENTS):
        lines = (path / name).read_text().splitlines()
        found[name] = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]
    return found


def test_killed_at_random_moments(tmp_path):
    path, moments = tmp_path / "run", random.Random(0)
    for _ in range(6):
        writer = start(path)
        while not read_run(path).checkpoints():
            time.sleep(0.01)
        time.sleep(moments.uniform(0.02, 0.3))
        writer.kill()
        writer.wait()
        seen = read_run(path)
        assert seen.state == "killed"
        assert len(read_lines(path / METRICS)[0]) == len(seen.metrics())
        assert all(group.completions[0].text.startswith(f"answer {group.step}") for group in seen.groups())
        assert all(event.message == f"step {event.step} is odd" for event in seen.events())
        assert all(map(whole, seen.checkpoints()))

    run = Run.resume(path)
    assert run.step == int(run.latest_checkpoint().name.removeprefix("step_")) >= 3
    assert list((path / "checkpoints").glob(".*")) == []
    end = run.step + 3
    uninterrupted = Run.create(tmp_path / "other", config={"seed": 1})
    for one in (run, uninterrupted):
        for step in range(one.step, end):
            killed_writer.take_step(one, step)
        one.finish()
    assert without_time(path) == without_time(tmp_path / "other")
    assert [c.name for c in read_run(path).checkpoints()] == [
        c.name for c in read_run(tmp_path / "other").checkpoints()
    ]
    assert len(read_run(path).env.processes) == 7
    assert [p.name for p in path.rglob("*.partial")] == []


def test_a_run_has_one_writer(tmp_path):
    path = tmp_path / "run"
    writer = start(path)
    try:
        assert read_run(path).state == "running"
        with pytest.raises(ConfigError, match="being written by another process"):
            Run.resume(path)
        with pytest.raises(ConfigError, match="being written by another process"):
            Run.create(path, config={}, overwrite=True)
    finally:
        writer.kill()
        writer.wait()
    assert read_run(path).state == "killed"
    Run.resume(path).finish()
    assert read_run(path).state == "finished"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_outlives_its_parent_does_not_hold_the_run(tmp_path):
    code = (
        "import os, sys, time; from pathlib import Path; from groupwise.runs.write import Run\n"
        "run = Run.create(Path(sys.argv[1]), config={})\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(60)\n"
        "print(child, flush=True); os.kill(os.getpid(), 9)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE
    )
    child = int(writer.stdout.readline())
    writer.wait()
    writer.stdout.close()
    try:
        Run.resume(tmp_path / "run").finish()
    finally:
        os.kill(child, 9)
