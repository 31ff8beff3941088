"""Tables, progress bars and JSON: everything the command prints.

Standard output holds results, standard error what goes on meanwhile. With --json, standard output holds one
object and nothing else.
"""

import contextlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from groupwise.train.report import StepReport

results = Console(highlight=False)
progressing = Console(stderr=True, highlight=False)
HEADLINES = {
    "heldout/score": "held-out",
    "heldout/accuracy": "held-out acc",
    "reward/mean": "reward",
    "loss/accuracy": "accuracy",
    "loss/nll": "nll",
    "loss/kl_ref": "kl",
    "loss/margin": "margin",
}


def print_json(value: Any) -> None:
    """One strict JSON object on standard output."""
    json.dump(_finite(value), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str = "") -> None:
    """A line of results for a person, exactly as it is."""
    results.print(text, soft_wrap=True, markup=False)


def tell(text: str) -> None:
    """A line about what goes on, exactly as it is."""
    progressing.print(text, soft_wrap=True, markup=False)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table of results for a person: words stand left, numbers right."""
    found = Table(title=escape(title), title_justify="left", header_style="bold")
    lines = [[str(cell) for cell in row] for row in rows]
    for i, column in enumerate(columns):
        text = any(line[i][:1].isalpha() for line in lines)
        found.add_column(column, justify="left" if i == 0 or text else "right", overflow="fold")
    for line in lines:
        found.add_row(*map(escape, line))
    results.print(found)


@contextlib.contextmanager
def progress(label: str, steps: int, start: int = 0) -> Iterator["StepBar"]:
    """A bar with steps done, rate, time left and the step's measurements."""
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[shown]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=progressing) as bars:
        yield StepBar(bars, bars.add_task(label, total=steps, completed=start, rate="", shown=""), steps)


class StepBar:
    """A progress bar that is told of each step; where nobody watches, a line now and then instead."""

    def __init__(self, bars: Progress, task: Any, steps: int) -> None:
        self.bars, self.task, self.steps = bars, task, steps

    def expect(self, steps: int) -> None:
        """So many steps, as it looks now."""
        self.steps = steps
        self.bars.update(self.task, total=steps)

    def step(self, report: StepReport) -> None:
        """Show a step's measurements."""
        rate = f"{report.metrics['tokens/per_second']:,.0f} tok/s"
        shown = headline(report.metrics)
        self.bars.update(self.task, completed=report.step + 1, rate=rate, shown=shown)
        every = max(1, self.steps // 10)
        if not progressing.is_terminal and ((report.step + 1) % every == 0 or report.step + 1 == self.steps):
            tell(f"step {report.step + 1}/{self.steps}  {rate}  {shown}")


def headline(metrics: Mapping[str, float]) -> str:
    """The few measurements that say how a step went."""
    constant = metrics.get("reward/std") == 0 or "loss/accuracy" in metrics  # given scores: nothing to watch
    names = [n for n in HEADLINES if n in metrics and not (n == "reward/mean" and constant)]
    return "  ".join(f"{HEADLINES[n]} {metrics[n]:.3f}" for n in names)


def percent(value: float) -> str:
    """0.416 as 41.6 %."""
    return f"{100 * value:.1f} %"


def between(low: float, high: float) -> str:
    """An interval of shares."""
    return f"{100 * low:.1f} .. {100 * high:.1f}"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
