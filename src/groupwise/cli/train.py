"""`groupwise train RECIPE.yaml [--section.key VALUE ...] [--run DIR]` and `groupwise train --resume DIR`."""

import argparse
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from groupwise.cli.show import headline, progress, say, tell
from groupwise.config import parse_overrides
from groupwise.errors import ConfigError
from groupwise.models.policy import Policy
from groupwise.models.quiet import quiet_libraries
from groupwise.recipe import Recipe, find_recipe, load_recipe, recipe_of
from groupwise.runner import Runner
from groupwise.runs.read import read_config, read_run
from groupwise.runs.schema import Event
from groupwise.train.distributed import leave_world

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("recipe", nargs="?", help="a YAML file, or the name of one that the package brings")
    parser.add_argument("--run", type=Path, help="run directory to write (default: runs/RECIPE-TIME)")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with this run from its last checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that --run holds")
    parser.epilog = "Any setting of the recipe can be given as --section.key VALUE, such as --train.steps 50."


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Train."""
    quiet_libraries()
    recipe, directory = _asked(options, rest)
    try:
        runner = Runner(recipe, directory, resume=options.resume is not None, overwrite=options.overwrite)
        leads = runner.world.leads
        if leads:
            tell(f"{recipe.objective['name']}  {recipe.model.path}  ->  {directory}")
            for note in runner.policy.notes:
                tell(f"note: {note}")
        last = None
        with progress(str(recipe.objective["name"]), recipe.train.steps, runner.run.step) as bar:
            for last in runner.steps():
                if leads:
                    bar.step(last)
    finally:
        leave_world()
    if leads:
        for line in _warnings(directory):
            tell(line)
        say(f"done: {headline(last.metrics) if last else 'the run was already complete'}")
        say(f"model: {directory / 'model'}   measurements: {directory / 'metrics.jsonl'}")
        if isinstance(runner.policy, Policy):  # a model that scores does not write
            say(f"next:  groupwise sample {shlex.quote(str(directory / 'model'))} 'your prompt'")
    return 0


def _warnings(directory: Path) -> list[str]:
    """What the run warned of: a line for each kind, with how often and the first message."""
    found: dict[str, list[Event]] = {}
    for event in read_run(directory).events():
        if event.level != "info":
            found.setdefault(event.kind, []).append(event)
    return [
        f"warning: {kind} at {len(events)} {'step' if len(events) == 1 else 'steps'}, the first: {events[0].message}"
        for kind, events in found.items()
    ]


def _asked(options: argparse.Namespace, rest: Sequence[str]) -> tuple[Recipe, Path]:
    if options.resume is not None:
        if options.recipe or rest or options.run or options.overwrite:
            given = " ".join([*([options.recipe] if options.recipe else []), *rest])
            given = given or (f"--run {options.run}" if options.run else "--overwrite")
            raise ConfigError(f"--resume goes on with the run's own settings: leave out {given}, or start a new run")
        try:
            return recipe_of(read_config(options.resume)), options.resume
        except ConfigError as error:
            raise ConfigError(f"--resume {options.resume}: {error}") from error
    if options.overwrite and options.run is None:
        raise ConfigError("--overwrite has no effect without --run: give the run directory to replace")
    if options.recipe is None:
        raise ConfigError("which recipe? give a YAML file or a name: see groupwise list recipes")
    path = find_recipe(options.recipe)
    recipe = load_recipe(path, parse_overrides(rest))
    return recipe, options.run or Path("runs") / f"{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
