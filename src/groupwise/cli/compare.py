"""`groupwise compare RECIPE ... --seeds 0,1,2 [--tokens N] [--run DIR] [--section.key VALUE ...]`."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from groupwise.cli.show import print_json, progress, say, table, tell
from groupwise.compare import Comparer, Comparison, MethodRun, comparison_of
from groupwise.config import parse_overrides, read_yaml
from groupwise.errors import ConfigError
from groupwise.evaluate.comparison_files import COLUMNS, notes, table_rows
from groupwise.models.quiet import quiet_libraries
from groupwise.recipe import find_recipe
from groupwise.runs.read import read_json

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("recipe", nargs="+", help="YAML files, or names of recipes that the package brings")
    parser.add_argument("--seeds", default="0,1,2", help="of training, with commas between them (default 0,1,2)")
    parser.add_argument("--tokens", type=int, help="end each run after so many computed tokens (default: its steps)")
    parser.add_argument("--run", type=Path, help="directory to write, or to go on with (default: runs/compare-TIME)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = (
        "All are judged by the `evaluate`, `sampling` and `reward` of the first recipe that samples. Settings after "
        "the recipes hold for all of them: --model.path DIR, --train.steps 50, --evaluate.samples 4."
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Train and judge what is left, then show the table."""
    quiet_libraries()
    comparison = comparison_of(
        _recipes(options.recipe), parse_overrides(rest), seeds=_seeds(options.seeds), tokens=options.tokens
    )
    directory = options.run or Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
    for name in comparison.unused:
        tell(f"note: `evaluate` of {name} is not used: all are judged as {comparison.judged_as or 'the settings say'}")
    comparer = Comparer(comparison, directory)
    runs = len(comparison.methods) * len(comparison.seeds)
    for run in comparer.left():
        done = sum(result.state != "unfinished" for result in comparer.results())
        _train(run, comparison, f"{done + 1}/{runs} {run.method} seed {run.seed}")
    results = comparer.results()
    if options.json:
        print_json(read_json(directory / "compare.json"))
        return 0
    rows = table_rows(results)
    for title, first, end in (("Held-out samples, judged alike", 1, 5), ("Drift and cost", 5, len(COLUMNS))):
        table(title, (COLUMNS[0], *COLUMNS[first:end]), ((row[0], *row[first:end]) for row in rows))
    for note in notes(results):
        say(note)
    say(f"table: {directory / 'compare.md'}   numbers: {directory / 'compare.json'}   charts: {directory}/*.svg")
    return 0


def _train(run: MethodRun, comparison: Comparison, label: str) -> None:
    config = run.recipe.train
    with progress(label, config.steps) as bar:
        for report in run.steps():
            if config.tokens is not None:
                bar.expect(max(report.step + 1, round(config.tokens / report.metrics["tokens/computed"])))
            bar.step(report)
    result = run.result()
    if result.state == "diverged":
        tell(f"warning: {run.method} with seed {run.seed} diverged after {result.steps} steps: {result.error}")


def _recipes(given: Sequence[str]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for name in given:
        path = find_recipe(name)
        if path.stem in found:
            raise ConfigError(f"two recipes are called {path.stem!r}: the table and the folders need a name for each")
        found[path.stem] = read_yaml(path)
    return found


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--seeds {text}: write whole numbers with commas between them, such as 0,1,2") from error
