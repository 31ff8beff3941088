"""Two processes under torchrun take the same step as one: FSDP2 over gloo, float64, and groups over the budget."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from groupwise.recipe import recipe_of
from groupwise.runner import Runner
from groupwise.runs.read import read_run


@pytest.mark.parametrize("name", ["sft", "dpo", "grpo", "ppo"])
def test_two_ranks_take_the_step_that_one_takes(name, tmp_path):
    sums = [(a, b) for a in range(5) for b in range(5)]
    rows = {
        "sft": [{"prompt": f"{a}+{b}=", "completion": str(a + b)} for a, b in sums],
        "dpo": [{"prompt": f"{a}+{b}=", "chosen": str(a + b), "rejected": f"{a + b}0"} for a, b in sums],
    }.get(name)
    recipe = {
        "model": {"path": "tiny", "dtype": "float64"} | ({"critic": "tiny"} if name == "ppo" else {}),
        "objective": {"name": name},
        "data": {"task": "sums", "size": 50, "settings": {"digits": 1}}
        if rows is None
        else {"path": str(tmp_path / "rows.jsonl")},
        "train": {
            "steps": 2,
            "groups_per_step": 5,
            "max_tokens": 8 if name in ("dpo", "grpo") else 30,
            "save_every": 1,
        },
        "optimizer": {"learning_rate": 1e-3},
    }
    if rows is None:
        recipe |= {"sampling": {"k": 4, "max_new_tokens": 3}, "reward": {"name": "length", "settings": {"target": 2}}}
    else:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    list(Runner(recipe_of(recipe), tmp_path / "one").steps())
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))  # JSON is YAML
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "--"]
    command = [*torchrun, "groupwise", "train", str(tmp_path / "recipe.yaml"), "--run", str(tmp_path / "two")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (read_run(tmp_path / run).metrics() for run in ("one", "two"))
    for key in ("loss/total", "optimizer/grad_norm", "reward/mean"):
        assert [m[key] for m in two] == pytest.approx([m[key] for m in one], rel=1e-10, abs=1e-14), key
    whole, shards = (load_file(tmp_path / run / "model" / "model.safetensors") for run in ("one", "two"))
    assert whole.keys() == shards.keys()
    assert all(torch.allclose(whole[key], shards[key], rtol=0, atol=1e-9) for key in whole)
