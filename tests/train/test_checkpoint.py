import random

import numpy as np
import pytest
import torch
from torch import nn

from groupwise.errors import ConfigError, DataError
from groupwise.runs.read import read_run
from groupwise.runs.write import Run
from groupwise.train.checkpoint import load_state, save_state

IDENTITY = {"objective": {"name": "grpo", "clip": 0.2}, "seed": 1, "shape": (4, 4)}


def make():
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def take_step(model, optimizer):
    """Draws from all three generators, so that a resumed run must have all three."""
    inputs = torch.randn(8, 4) + random.random() + np.random.rand()
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def save(directory, model, optimizer, step):
    def write_model(path):
        torch.save(model.state_dict(), path / "weights.pt")

    save_state(
        directory,
        write_model,
        step=step,
        optimizer=optimizer.state_dict(),
        source={"at": step},
        objective={"beta": 0.5},
        identity=IDENTITY,
    )


def saved(path):
    model, optimizer = make()
    take_step(model, optimizer)
    path.mkdir()
    save(path, model, optimizer, 1)
    return path


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path):
    model, optimizer = make()
    random.seed(0)
    np.random.seed(0)
    run = Run.create(tmp_path / "run", config={})
    for step in range(6):
        random.gauss(0, 1)
        np.random.standard_normal()
        take_step(model, optimizer)
        if step == 2:
            run.save_checkpoint(3, lambda directory: save(directory, model, optimizer, 3))
    run.finish("interrupted")

    other, its_optimizer = make()
    random.seed(5)
    np.random.seed(5)
    with Run.resume(tmp_path / "run") as run:
        state = load_state(run.latest_checkpoint(), identity=IDENTITY)
        assert (state.step, state.source) == (3, {"at": 3})
        other.load_state_dict(torch.load(state.model / "weights.pt", weights_only=True))
        its_optimizer.load_state_dict(state.optimizer)
        state.restore_random()
        for _ in range(run.step, 6):
            random.gauss(0, 1)
            np.random.standard_normal()
            take_step(other, its_optimizer)
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(model.bias, other.bias)
    assert read_run(tmp_path / "run").state == "finished"


@pytest.mark.parametrize("name", ["state.json", "optimizer.pt", "random.pt"])
def test_a_missing_or_damaged_file_is_named(tmp_path, name):
    directory = saved(tmp_path / "step_00000001")
    content = (directory / name).read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"\x00" * len(content)):
        (directory / name).write_bytes(damaged)
        with pytest.raises(DataError, match=rf"{name} is damaged .*remove it"):
            load_state(directory, identity=IDENTITY)
    (directory / name).unlink()
    with pytest.raises(DataError, match=rf"has no {name}.*remove it"):
        load_state(directory, identity=IDENTITY)


def test_code_in_a_checkpoint_is_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (exec, ("raise SystemExit",))

    directory = saved(tmp_path / "step_00000001")
    torch.save({"state": Harmful()}, directory / "optimizer.pt")
    with pytest.raises(DataError, match=r"optimizer\.pt is damaged"):
        load_state(directory, identity=IDENTITY)


def test_a_file_of_another_kind(tmp_path):
    directory = saved(tmp_path / "step_00000001")
    torch.save(torch.zeros(1), directory / "optimizer.pt")
    with pytest.raises(DataError, match="holds Tensor, must be a dict"):
        load_state(directory, identity=IDENTITY)


def test_a_checkpoint_of_another_configuration(tmp_path):
    directory = saved(tmp_path / "step_00000001")
    with pytest.raises(ConfigError, match=r"objective\.name is 'dpo', was 'grpo'; seed is None, was 1\. Put it back"):
        load_state(directory, identity={"objective": {"name": "dpo", "clip": 0.2}, "shape": [4, 4]})
