"""A pipeline's directory: the stages' run directories with their configuration, their summary and the last model."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from groupwise.errors import ConfigError
from groupwise.runs import atomic, lock
from groupwise.runs.read import RunView, read_json, read_run, read_settings, record_of
from groupwise.runs.schema import (
    ENVIRONMENT,
    FORMAT,
    LOCK,
    MODEL,
    PIPELINE,
    STATUS,
    SUMMARY,
    PipelineSummary,
    StageSummary,
    State,
)


@dataclass(frozen=True, slots=True)
class PipelineView:
    """A pipeline as it stood when `read_pipeline` looked."""

    path: Path
    config: Mapping[str, Any]
    stages: Mapping[str, RunView | None]  # in order; None: not begun

    @property
    def state(self) -> State | Literal["killed"]:
        """The state of the stage it stands at; between two stages, "killed" if nobody goes on with it."""
        for run in self.stages.values():
            if run is not None and run.state != "finished":
                return run.state
        if all(self.stages.values()) and (self.path / MODEL).is_dir():
            return "finished"
        return "running" if lock.is_held(self.path) else "killed"

    def summary(self) -> PipelineSummary:
        """What the finished stages came to."""
        if not (self.path / SUMMARY).is_file():
            return PipelineSummary(format=FORMAT, stages=(), model=None)
        found = read_json(self.path / SUMMARY)
        stages = [record_of(StageSummary, stage) for stage in found["stages"]]
        return record_of(PipelineSummary, found | {"stages": stages})


def read_pipeline(path: str | Path) -> PipelineView:
    """The pipeline in directory `path`; ConfigError if it is none."""
    path = Path(path)
    config = read_pipeline_config(path)
    names = [stage["name"] for stage in config["stages"]]
    return PipelineView(path, config, {name: _begun(path / name) for name in names})


def is_pipeline(path: Path) -> bool:
    """Whether a pipeline was begun in directory `path`."""
    return (path / PIPELINE).is_file()


def read_pipeline_config(path: Path) -> dict[str, Any]:
    """The resolved configuration of the pipeline in directory `path`."""
    if not is_pipeline(path):
        raise ConfigError(f"{path} is no pipeline's directory: it has no {PIPELINE}")
    return read_settings(path / PIPELINE)


def is_finished(stage: Path) -> bool:
    """Whether the run in this directory came to its end."""
    run = _begun(stage)
    return run is not None and run.state == "finished"


def create_pipeline(path: Path, config: Mapping[str, Any], *, overwrite: bool) -> None:
    """A new pipeline in directory `path`, whose lock the caller holds. ConfigError if there is something in it.

    `overwrite` first removes the stages and results of an earlier pipeline, and nothing else.
    """
    found = {item.name for item in path.iterdir()} - {LOCK}
    if PIPELINE in found and not overwrite:
        raise ConfigError(
            f"{path} already holds a pipeline: go on with it by `--resume {path}`, replace it by `--overwrite`, "
            "or choose another directory"
        )
    if PIPELINE not in found and any(not name.startswith(f".{PIPELINE}") for name in found):
        raise ConfigError(f"{path} holds files that are not a pipeline's ({min(found)}): choose another directory")
    if PIPELINE in found:
        (path / SUMMARY).unlink(missing_ok=True)
        for name in [MODEL, *(stage["name"] for stage in read_pipeline_config(path)["stages"])]:
            if name.isidentifier() and (path / name).is_dir():
                shutil.rmtree(path / name)
    text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True, width=120)
    atomic.write_file(path / PIPELINE, text)


def write_summary(path: Path, names: Sequence[str], *, model: str | None) -> None:
    """Replace `summary.json` by what the finished ones of these stages came to."""
    stages = [_summary(name, read_run(path / name)) for name in names if is_finished(path / name)]
    summary = PipelineSummary(format=FORMAT, stages=stages, model=model)
    atomic.write_file(path / SUMMARY, atomic.strict_json(asdict(summary), indent=2))


def keep_model(path: Path, stage: str) -> None:
    """This stage's model as the pipeline's: the same files where the file system can link them, else copies."""
    if not (path / MODEL).is_dir():
        atomic.write_atomically(
            path / MODEL,
            lambda to: shutil.copytree(path / stage / MODEL, to, copy_function=_link, dirs_exist_ok=True),
        )


def _begun(path: Path) -> RunView | None:
    whole = all((path / name).is_file() for name in (ENVIRONMENT, STATUS))
    return read_run(path) if whole else None


def _summary(name: str, run: RunView) -> StageSummary:
    steps = run.metrics()
    before = [event.details for event in run.events() if event.kind == "before_training"]
    last = {key: value for key, value in steps[-1].items() if key not in ("step", "time")} if steps else {}
    return StageSummary(
        name=name,
        objective=run.config["objective"]["name"],
        steps=run.status.step,
        seconds=sum(value or 0.0 for step in steps for key, value in step.items() if key.startswith("seconds/")),
        tokens=int(sum(step.get("tokens/computed") or 0 for step in steps)),
        metrics={key: value for key, value in last.items() if not key.startswith("heldout/")},
        heldout_before=dict(before[-1]) if before else {},
        heldout_after={key: value for key, value in last.items() if key.startswith("heldout/")},
    )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
