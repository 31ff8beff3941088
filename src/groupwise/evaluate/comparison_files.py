"""A comparison as files: `compare.json`, the table `compare.md`, and charts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from groupwise.evaluate.comparison import MethodResult, RunResult, method_results, over_seeds, starts
from groupwise.evaluate.comparison_charts import charts
from groupwise.evaluate.intervals import Interval
from groupwise.runs.atomic import strict_json, write_file

FORMAT = 1
COLUMNS = ("method", "score", "95 %", "minus first", "95 %", "KL", "tokens/answer", "steps", "tokens", "s", "runs")


def write_comparison(directory: Path, settings: Mapping[str, Any], runs: Sequence[RunResult]) -> None:
    """Replace the files in `directory` by what these runs came to."""
    methods = method_results(runs)
    found = {
        "format": FORMAT,
        **settings,
        "methods": [asdict(method) for method in methods],
        "runs": [asdict(run) for run in runs],
    }
    write_file(directory / "compare.json", strict_json(found, indent=2) + "\n")
    write_file(directory / "compare.md", markdown(runs))
    for name, text in charts(runs).items():
        write_file(directory / f"{name}.svg", text)


def table_rows(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """The table's rows below COLUMNS: the starting model, then the methods in their order."""
    before = starts(runs)
    rows = []
    if before:
        score = before[0].score if len(before) == 1 else over_seeds([start.score.value for start in before])
        length = f"{over_seeds([start.length for start in before]).value:.1f}"
        kl = "-" if before[0].kl is None else "0"
        rows.append(("(start)", f"{score.value:.3f}", _span(score), "-", "-", kl, length, "0", "0", "0", "-"))
    return rows + [_row(method) for method in method_results(runs)]


def notes(runs: Sequence[RunResult]) -> list[str]:
    """What the table's intervals are over, and every run that is not in its means."""
    methods = method_results(runs)
    first = methods[0].method if methods else ""
    several, single = ([method.method for method in methods if method.over == over] for over in ("seeds", "prompts"))
    found = []
    if several:
        found.append(
            "Intervals: Student's t over the seeds' mean scores on these prompts; differences: of the same seeds."
        )
    if single:
        which = "" if not several else f" of {', '.join(single)}"
        found.append(
            f"Intervals{which}: over the prompts of one run; they say nothing of what another seed would give."
        )
    if methods:
        found.append(
            f"`minus first`: the score minus that of {first}, paired. `KL`: to the starting model, of an answer."
        )
    found.append("`s`: seconds of training with its sampling; held-out measurements and loading are not counted.")
    for run in runs:
        if run.state == "diverged":
            found.append(f"{run.method} with seed {run.seed} diverged after {run.steps} steps: {run.error}")
        elif run.gain is not None and run.gain.high < 0:
            found.append(f"{run.method} with seed {run.seed} ended below its start, by {_span(run.gain)}")
    left = [f"{run.method} seed {run.seed} ({run.steps} steps so far)" for run in runs if run.state == "unfinished"]
    if left:
        found.append(f"Not finished: {', '.join(left)}")
    for run in runs:
        if run.end is not None and run.end.unjudged:
            found.append(f"{run.method} with seed {run.seed}: {run.end.unjudged} completions could not be judged")
    return found


def markdown(runs: Sequence[RunResult]) -> str:
    """The table and its notes."""
    lines = [COLUMNS, ("---",) + ("---:",) * (len(COLUMNS) - 1), *table_rows(runs)]
    table = "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines)
    return f"# Comparison\n\n{table}\n" + "".join(f"* {' '.join(note.split())}\n" for note in notes(runs))


def _row(method: MethodResult) -> tuple[str, ...]:
    runs = str(method.runs) if method.finished == method.runs else f"{method.finished} of {method.runs}"
    runs += f", {method.diverged} diverged" if method.diverged else ""
    return (
        method.method,
        _number(method.score, 3),
        _span(method.score),
        "-" if method.difference is None else f"{method.difference.value:+.3f}",
        _span(method.difference),
        _number(method.kl, 2),
        _number(method.length, 1),
        *("-" if value is None else f"{value:,.0f}" for value in (method.steps, method.tokens, method.seconds)),
        runs,
    )


def _number(value: Interval | None, digits: int) -> str:
    return "-" if value is None else f"{round(value.value, digits) + 0.0:.{digits}f}"  # no -0.00


def _span(value: Interval | None) -> str:
    return "-" if value is None else f"{value.low:.3f} .. {value.high:.3f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
