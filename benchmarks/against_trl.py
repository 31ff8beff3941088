"""A training step of Groupwise beside one of TRL: the same model, texts, batch, steps, precision and optimizer.

    python benchmarks/against_trl.py PEER_PYTHON MODEL_DIR [--rows grpo_small,dpo] [--turns 2] [--steps 3]

PEER_PYTHON is the Python of an environment with `torch==2.13.0 trl==1.16.0`. The two take turns (A B A B ...),
each turn in a process of its own with nothing else running; the first step of each is its warm-up and is not counted.
Prints a line of JSON for each row, and writes them with machine and versions to `benchmarks/results/against_trl.json`.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS: dict[str, dict[str, Any]] = {
    "grpo_small": {"kind": "grpo", "rows": 2, "prompt": 128, "k": 8, "response": 32},
    "grpo_large": {"kind": "grpo", "rows": 2, "prompt": 512, "k": 16, "response": 64},
    "dpo": {"kind": "dpo", "rows": 8, "prompt": 256, "response": 128},
    "sft": {"kind": "sft", "rows": 16, "shortest": 16, "longest": 512},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", metavar="PEER_PYTHON")
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    found = []
    for name in arguments.rows.split(","):
        found.append({"row": name, **ROWS[name], **measure(ROWS[name], arguments)})
        print(json.dumps(found[-1]), flush=True)
    kept = HERE / "results" / "against_trl.json"
    earlier = json.loads(kept.read_text(encoding="utf-8"))["rows"] if kept.is_file() else []
    rows = [row for row in earlier if row["row"] not in {one["row"] for one in found}] + found
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


def measure(shape: dict[str, Any], arguments: argparse.Namespace) -> dict[str, float]:
    """Median seconds of a step and peak memory of both, and their ratios."""
    sides = {"groupwise": [sys.executable, "step_groupwise.py"], "trl": [arguments.peer, "step_trl.py"]}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    peak: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data.jsonl"
        rows = texts(shape, arguments.model, count=shape["rows"] * (arguments.steps + 1))
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        task = json.dumps({**shape, "steps": arguments.steps + 1, "model": str(arguments.model.resolve())})
        for turn in range(arguments.turns):
            for side, (python, script) in sides.items():
                folder = Path(scratch) / f"{side}{turn}"
                folder.mkdir()
                command = [python, str(HERE / script), task, str(data)]
                told = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
                if told.returncode:
                    raise SystemExit(f"{' '.join(command)}\n{told.stderr[-3000:]}")
                said = json.loads(told.stdout.strip().rpartition("\n")[2])
                seconds[side] += said["steps"][1:]
                peak[side] = max(peak.get(side, 0.0), said["peak_gib"])
    step = {side: statistics.median(times) for side, times in seconds.items()}
    return {
        **{f"{side}_seconds": round(value, 2) for side, value in step.items()},
        **{f"{side}_peak_gib": round(value, 2) for side, value in peak.items()},
        "times_faster": round(step["trl"] / step["groupwise"], 2),
        "share_of_memory": round(peak["groupwise"] / peak["trl"], 3),
    }


def texts(shape: dict[str, Any], model: Path, *, count: int) -> list[dict[str, str]]:
    """Rows of random words of the lengths asked for, in tokens."""
    from transformers import AutoTokenizer

    tokenizer, draw = AutoTokenizer.from_pretrained(model), random.Random(0)
    words = [tokenizer.decode([i]) for i in range(5000, 9000)]

    def text(tokens: int) -> str:
        said: list[str] = []
        while len(tokenizer(" ".join(said))["input_ids"]) < tokens:
            said.append(draw.choice(words).strip() or "a")
        return " ".join(said)

    if shape["kind"] == "sft":
        lengths = [draw.randint(shape["shortest"], shape["longest"]) for _ in range(count)]
        return [{"prompt": text(max(4, n // 4)), "completion": " " + text(n - max(4, n // 4))} for n in lengths]
    rows = [{"prompt": text(shape["prompt"])} for _ in range(count)]
    if shape["kind"] == "dpo":
        answers = [{side: " " + text(shape["response"]) for side in ("chosen", "rejected")} for _ in rows]
        return [{**row, **answer} for row, answer in zip(rows, answers, strict=True)]
    return rows


def environment() -> dict[str, str]:
    """Two threads that do not spin, no network."""
    threads = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
    return {**os.environ, **threads, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    versions = {name: importlib.metadata.version(name) for name in ("groupwise", "torch", "transformers")}
    return {
        "cpu": model[0].partition(": ")[2] if model else platform.processor(),
        "cores": str(os.cpu_count()),
        **versions,
    }


if __name__ == "__main__":
    main()
