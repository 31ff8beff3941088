"""Groupwise's side of `against_trl.py`: one line of JSON with the seconds of each step and the peak memory."""

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

from groupwise.recipe import recipe_of
from groupwise.runner import Runner

REWARD = '''
def characters(row, text):
    """A trivial reward: only the trainer is timed."""
    return float(len(set(text)) % 7)


characters.in_process = True
'''


def main() -> None:
    task, data = json.loads(sys.argv[1]), Path(sys.argv[2])
    Path("reward.py").write_text(REWARD, encoding="utf-8")
    runner = Runner(recipe_of(recipe(task, data)), Path("run"))
    if task["kind"] == "grpo":
        runner.source.engine.end_ids = frozenset()  # every completion runs to its last token, as TRL's
    seconds, began = [], time.perf_counter()
    for _ in runner.steps():
        seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"steps": seconds, "peak_gib": peak, "phases": phases()}))


def recipe(task: dict[str, Any], data: Path) -> dict[str, Any]:
    """The row as a recipe."""
    common = {
        "model": {"path": task["model"]},
        "objective": {"name": task["kind"]},
        "data": {"path": str(data), "chat": False},
        "train": {"steps": task["steps"], "groups_per_step": task["rows"], "save_every": 10**6},
        "optimizer": {"learning_rate": 1e-6},
    }
    if task["kind"] != "grpo":
        return common
    sampling = {"k": task["k"], "max_new_tokens": task["response"]}
    return common | {"sampling": sampling, "reward": {"name": "./reward.py:characters"}}


def phases() -> list[dict[str, float]]:
    """Seconds of each step's phases, from the run directory."""
    lines = [json.loads(line) for line in Path("run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{k: round(v, 2) for k, v in line.items() if k.startswith("seconds/")} for line in lines]


if __name__ == "__main__":
    main()
