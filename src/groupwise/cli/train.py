"""`groupwise train RECIPE.yaml [--section.key VALUE ...] [--run DIR]` and `groupwise train --resume DIR`.

A recipe is that of one run or, with a list `stages`, of a pipeline.
"""

import argparse
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from groupwise.cli.show import HEADLINES, headline, progress, say, table, tell
from groupwise.config import parse_overrides, read_yaml
from groupwise.errors import ConfigError
from groupwise.models.policy import Policy
from groupwise.models.quiet import quiet_libraries
from groupwise.pipeline import PipelineRunner
from groupwise.recipe import Recipe, find_recipe, load_recipe, recipe_of
from groupwise.runner import Runner
from groupwise.runs.pipeline import is_pipeline, read_pipeline, read_pipeline_config
from groupwise.runs.read import read_config, read_profile, read_run
from groupwise.runs.schema import PROFILE, TRACE, Event, ProfileRecord, StageSummary
from groupwise.stages import Pipeline, is_pipeline_recipe, pipeline_of
from groupwise.train.distributed import leave_world
from groupwise.train.report import StepReport

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("recipe", nargs="?", help="a YAML file, or the name of one that the package brings")
    parser.add_argument("--run", type=Path, help="run directory to write (default: runs/RECIPE-TIME)")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with this run from its last checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that --run holds")
    parser.add_argument("--profile", action="store_true", help="show where the time went, and trace the second step")
    parser.epilog = (
        "Any setting of the recipe can be given as --section.key VALUE, such as --train.steps 50. In a pipeline that "
        "is all stages' setting, and --stages.NAME.section.key VALUE is one stage's."
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Train."""
    quiet_libraries()
    asked, directory = _asked(options, rest)
    how = {"resume": options.resume is not None, "overwrite": options.overwrite}
    try:
        if isinstance(asked, Pipeline):
            _train_stages(PipelineRunner(asked, directory, **how), profile=options.profile)
        else:
            _train_one(Runner(asked, directory, **how), profile=options.profile)
    finally:
        leave_world()
    return 0


def _train_one(runner: Runner, *, profile: bool) -> None:
    directory, writes = runner.directory, isinstance(runner.policy, Policy)  # a model that scores does not write
    last = _train(runner, str(runner.recipe.objective["name"]), profile=profile)
    if runner.world.leads:
        say(f"done: {headline(last.metrics) if last else 'the run was already complete'}")
        say(f"model: {directory / 'model'}   measurements: {directory / 'metrics.jsonl'}")
        _say_next(directory, writes)


def _train_stages(pipeline: PipelineRunner, *, profile: bool) -> None:
    directory, leads = pipeline.directory, pipeline.world.leads
    if leads:
        tell(f"{' -> '.join(stage.name for stage in pipeline.pipeline.stages)}  in  {directory}")
    for stage in pipeline.stages():
        _train(stage.runner(), stage.name, profile=profile)
    if leads:
        summary = read_pipeline(directory).summary()
        columns = ("stage", "steps", "seconds", "tokens", "held out", "before", "after")
        table("Stages", columns, map(_row, summary.stages))
        say(f"model: {directory / 'model'} (of stage {summary.model})   measurements: {directory / 'summary.json'}")
        _say_next(directory, not pipeline.pipeline.last.recipe.scores)


def _row(stage: StageSummary) -> list[str]:
    """A stage with the held-out measurement that says most, before and after it."""
    before, after = stage.heldout_before, stage.heldout_after
    names = [name for name in (*HEADLINES, "heldout/loss") if name.startswith("heldout/") and name in after]
    values = [found.get(names[0]) for found in (before, after)] if names else []
    measured = [names[0].removeprefix("heldout/")] if names else ["none", "", ""]
    measured += ["-" if value is None else f"{value:.3f}" for value in values]
    label = stage.name if stage.name == stage.objective else f"{stage.name}: {stage.objective}"
    return [label, str(stage.steps), f"{stage.seconds:.1f}", f"{stage.tokens:,}", *measured]


def _train(runner: Runner, label: str, *, profile: bool = False) -> StepReport | None:
    """Take all steps, showing them; the last one's report, or None if there was none left."""
    recipe, last = runner.recipe, None
    if not runner.world.leads:  # the leading rank shows the steps
        for report in runner.steps():
            last = report
        return last
    tell(f"{recipe.objective['name']}  {recipe.model.path}  ->  {runner.directory}")
    for note in runner.policy.notes:
        tell(f"note: {note}")
    with progress(label, recipe.train.steps, runner.run.step) as bar:
        for last in runner.steps(trace=profile):
            bar.step(last)
    if profile:
        _show_profile(read_profile(runner.directory), runner.directory)
    for line in _warnings(runner.directory):
        tell(line)
    return last


def _show_profile(found: ProfileRecord, directory: Path) -> None:
    total = sum(phase.seconds for phase in found.phases.values())
    rows = [
        [
            name,
            f"{p.seconds:.2f}",
            f"{p.seconds / total:.1%}",
            f"{p.tokens:,}",
            f"{p.operations / 1e9:,.0f}",
            f"{p.of_matmul:.1%}",
        ]
        for name, p in sorted(found.phases.items(), key=lambda item: -item[1].seconds)
    ]
    columns = ("phase", "seconds", "of all", "tokens", "GFLOP needed", "of the matmul rate")
    table(
        f"{found.steps} steps in {found.dtype}; matrix products at {found.matmul_rate / 1e9:,.0f} GFLOP/s",
        columns,
        rows,
    )
    traced = f"trace: {directory / TRACE}   " if (directory / TRACE).is_file() else ""
    say(f"{traced}profile: {directory / PROFILE}")


def _say_next(directory: Path, writes: bool) -> None:
    if writes:
        say(f"next:  groupwise sample {shlex.quote(str(directory / 'model'))} 'your prompt'")


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


def _asked(options: argparse.Namespace, rest: Sequence[str]) -> tuple[Recipe | Pipeline, Path]:
    if options.resume is not None:
        if options.recipe or rest or options.run or options.overwrite:
            given = " ".join([*([options.recipe] if options.recipe else []), *rest])
            given = given or (f"--run {options.run}" if options.run else "--overwrite")
            raise ConfigError(f"--resume goes on with the run's own settings: leave out {given}, or start a new run")
        try:
            if is_pipeline(options.resume):
                return pipeline_of(read_pipeline_config(options.resume)), options.resume
            return recipe_of(read_config(options.resume)), options.resume
        except ConfigError as error:
            raise ConfigError(f"--resume {options.resume}: {error}") from error
    if options.overwrite and options.run is None:
        raise ConfigError("--overwrite has no effect without --run: give the run directory to replace")
    if options.recipe is None:
        raise ConfigError("which recipe? give a YAML file or a name: see groupwise list recipes")
    path = find_recipe(options.recipe)
    values, overrides = read_yaml(path), parse_overrides(rest)
    recipe = pipeline_of(values, overrides) if is_pipeline_recipe(values) else load_recipe(path, overrides)
    return recipe, options.run or Path("runs") / f"{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
