"""`groupwise demo`: a small model made on the spot, trained SFT -> DPO -> GRPO."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupwise.cli.show import between, percent, print_json, progress, say, table
from groupwise.demo import held_out_accuracy, stages
from groupwise.models.quiet import quiet_libraries


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--seed", type=int, default=0, help="of the model, the problems and everything drawn")
    parser.add_argument("--run", type=Path, help="directory to write (default: runs/demo-TIME)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Train the three stages and show what each gained."""
    quiet_libraries()
    directory = options.run or Path("runs") / f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    found: list[dict[str, Any]] = []
    begin = time.perf_counter()
    for stage in stages(directory, options.seed):
        policy, steps = stage.runner.policy, stage.runner.recipe.train.steps
        if not found:
            found.append(_measured("untrained", policy, options.seed, seconds=0.0, tokens=0.0))
        start, tokens = time.perf_counter(), 0.0
        with progress(stage.name, steps) as bar:
            for report in stage.runner.steps():
                tokens += report.metrics["tokens/computed"]
                bar.step(report)
        found.append(_measured(stage.name, policy, options.seed, seconds=time.perf_counter() - start, tokens=tokens))
    if options.json:
        print_json({"stages": found[1:], "untrained": found[0], "run": str(directory)})
        return 0
    table(
        "Addition written out: share of unseen problems answered right, one sample each",
        ("stage", "held out", "95 % interval", "seconds", "tokens/s"),
        (
            (
                s["name"],
                percent(s["accuracy"]),
                between(*s["interval"]),
                f"{s['seconds']:.1f}",
                _rate(s["tokens_per_second"]),
            )
            for s in found
        ),
    )
    say(f"{time.perf_counter() - begin:.0f} s in all. Everything is in {directory}: metrics, groups, models.")
    say(f"next:  groupwise sample {directory / 'grpo' / 'model'} '58+67='")
    say("       groupwise train tiny_dr_grpo       groupwise list")
    return 0


def _measured(name: str, policy: Any, seed: int, *, seconds: float, tokens: float) -> dict[str, Any]:
    accuracy = held_out_accuracy(policy, seed)
    return {
        "name": name,
        "accuracy": accuracy.value,
        "interval": [accuracy.low, accuracy.high],
        "seconds": seconds,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
    }


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value else ""
