"""Where the time went: what a run says of it, and the trace."""

import gzip
import json

import pytest
import torch

from groupwise.cli.main import main
from groupwise.errors import DataError
from groupwise.runs.read import read_profile, read_run
from groupwise.train.profile import matmul_rate, write_profile


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("profiled") / "run"
    settings = ["--train.steps", "3", "--train.groups_per_step", "2", "--sampling.k", "4", "--data.size", "20"]
    assert main(["train", "tiny_grpo", "--run", str(path), "--profile", "--objective.kl_coef", "0.1", *settings]) == 0
    return path


def test_every_phase_has_its_seconds_tokens_and_operations(run):
    found, steps = read_profile(run), read_run(run).metrics()
    phases = {"prefill", "decode", "score", "reference", "forward", "backward", "optimizer", "other"}
    assert set(found.phases) == phases
    assert found.steps == 3
    for name, phase in found.phases.items():
        assert phase.seconds == pytest.approx(sum(step[f"seconds/{name}"] for step in steps))
        assert phase.of_matmul == pytest.approx(phase.operations / phase.seconds / found.matmul_rate)
    assert found.phases["forward"].tokens == sum(step["tokens/computed"] for step in steps)
    assert found.phases["decode"].tokens == sum(
        step["completions/length"] * step["completions/count"] for step in steps
    )
    assert 0 < found.phases["forward"].operations <= found.phases["backward"].operations / 2 * (1 + 1e-9)
    assert found.phases["optimizer"].tokens == 0


def test_the_trace_holds_the_calls_of_a_step(run):
    with gzip.open(run / "trace.json.gz", "rt") as file:
        names = {event.get("name") for event in json.load(file)["traceEvents"]}
    assert "aten::mm" in names


def test_one_step_leaves_no_trace_and_no_error(tmp_path, capsys):
    settings = ["--train.steps", "1", "--train.groups_per_step", "2", "--sampling.k", "4", "--data.size", "20"]
    assert main(["train", "tiny_grpo", "--run", str(tmp_path / "run"), "--profile", *settings]) == 0
    assert not (tmp_path / "run" / "trace.json.gz").exists()
    assert "trace:" not in capsys.readouterr().out


def test_without_one(tmp_path):
    with pytest.raises(DataError, match=r"has no profile\.json"):
        read_profile(tmp_path)


def test_the_rate_is_measured_once():
    device = torch.device("cpu")
    assert 1e8 < matmul_rate(device, torch.float32) == matmul_rate(device, torch.float32)


def test_it_can_be_written_again(run):
    before = read_profile(run)
    assert write_profile(run, torch.device("cpu"), torch.float32).phases == before.phases
