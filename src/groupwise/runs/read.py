"""Read a run directory, also while it is being written or after its writer was killed."""

import json
import math
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from groupwise.errors import ConfigError, DataError
from groupwise.runs import lock
from groupwise.runs.atomic import checkpoints
from groupwise.runs.schema import (
    CHECKPOINTS,
    CONFIG,
    ENVIRONMENT,
    EVENTS,
    FORMAT,
    GROUPS,
    METRICS,
    PIPELINE,
    PROFILE,
    STATUS,
    CompletionRecord,
    Environment,
    ErrorRecord,
    Event,
    GroupRecord,
    PhaseRecord,
    ProcessRecord,
    ProfileRecord,
    State,
    Status,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stood when `read_run` looked; the methods read their file when called."""

    path: Path
    config: Mapping[str, Any]
    env: Environment
    status: Status

    @property
    def state(self) -> State | Literal["killed"]:
        """The state, or "killed" if the process that should be running is gone (told on its own machine only)."""
        if self.status.state == "running" and self.status.host == socket.gethostname() and not lock.is_held(self.path):
            return "killed"
        return self.status.state

    def metrics(self) -> list[dict[str, Any]]:
        """Measurements, one object for each step in order; None where a value was not finite."""
        steps: dict[int, dict[str, Any]] = {}
        for record in read_lines(self.path / METRICS)[0]:
            steps.setdefault(record["step"], {}).update(record)
        return [steps[step] for step in sorted(steps)]

    def series(self) -> dict[str, list[tuple[int, float]]]:
        """name -> (step, value) of each step that measured it; NaN where the value was not finite."""
        found: dict[str, list[tuple[int, float]]] = {}
        for row in self.metrics():
            for name, value in row.items():
                if name not in ("step", "time"):
                    found.setdefault(name, []).append((row["step"], math.nan if value is None else value))
        return found

    def groups(self, step: int | None = None) -> Iterator[GroupRecord]:
        """The groups of a step, or of all, one at a time in the order of the file."""
        only = "" if step is None else f'{{"step": {step},'
        for record, _ in iter_lines(self.path / GROUPS, prefix=only.encode()):
            candidates = [record_of(CompletionRecord, completion) for completion in record["completions"]]
            yield record_of(GroupRecord, record | {"completions": candidates})

    def events(self) -> list[Event]:
        """Events, in order."""
        return [record_of(Event, record) for record in read_lines(self.path / EVENTS)[0]]

    def checkpoints(self) -> list[Path]:
        """Whole checkpoints, oldest first."""
        return checkpoints(self.path / CHECKPOINTS)


def read_run(path: str | Path) -> RunView:
    """The run in directory `path`; DataError if it is none, or one of a newer version."""
    path = Path(path)
    if (path / PIPELINE).is_file():
        raise DataError(f"{path} is a pipeline's directory: give one of its stages, such as {path}/NAME")
    for name in (CONFIG, ENVIRONMENT, STATUS):
        if not (path / name).is_file():
            raise DataError(f"{path} is not a run directory: it has no {name}; give the directory of `train --run`")
    status = read_json(path / STATUS)
    error = status.get("error")
    return RunView(
        path=path,
        config=read_config(path),
        env=read_environment(path),
        status=record_of(Status, status | {"error": record_of(ErrorRecord, error) if error else None}),
    )


def read_config(path: Path) -> dict[str, Any]:
    """The resolved configuration of the run in directory `path`."""
    if not (path / CONFIG).is_file():
        raise ConfigError(f"{path} is no run directory: it has no {CONFIG}")
    return read_settings(path / CONFIG)


def read_settings(file: Path) -> dict[str, Any]:
    """A resolved configuration's file."""
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError) as error:  # bytes that are not UTF-8 are a ValueError
        raise DataError(f"{file} is not YAML: {error}") from error
    if not isinstance(config, dict):
        raise DataError(f"{file} holds {type(config).__name__}, must be a mapping of settings")
    return config


def read_environment(path: Path) -> Environment:
    """What the run in directory `path` was carried out with; DataError if a newer version wrote it."""
    found = read_json(path / ENVIRONMENT)
    if not isinstance(found.get("format"), int) or not isinstance(found.get("processes"), list):
        raise DataError(f"{path / ENVIRONMENT} is damaged: it must hold `format` and `processes`")
    if found["format"] > FORMAT:
        raise DataError(f"{path} has format {found['format']}, this version reads up to {FORMAT}: update groupwise")
    processes = [record_of(ProcessRecord, process) for process in found["processes"]]
    return record_of(Environment, found | {"processes": processes})


def read_profile(path: Path) -> ProfileRecord:
    """Where the time of the run in directory `path` went; DataError if it has not written it yet."""
    if not (path / PROFILE).is_file():
        raise DataError(f"{path} has no {PROFILE}: a run writes it when it ends")
    found = read_json(path / PROFILE)
    return record_of(
        ProfileRecord, found | {"phases": {n: record_of(PhaseRecord, p) for n, p in found["phases"].items()}}
    )


def read_lines(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The records from byte `start`, and the byte to go on from when the file has grown.

    A last line without its end is still being written, or its writer was killed: it is no record yet.
    A file that is missing has no records.
    """
    records = []
    for record, end in iter_lines(path, start=start):
        records.append(record)
        start = end
    return records, start


def iter_lines(path: Path, *, start: int = 0, prefix: bytes = b"") -> Iterator[tuple[dict[str, Any], int]]:
    """Records whose line starts with `prefix`, each with the byte after its line; otherwise as `read_lines`."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            start += len(line)
            if not line.endswith(b"\n"):
                return
            if line.startswith(prefix):
                yield parse_line(line, path, end=start), start


def parse_line(line: bytes, path: Path, *, end: int) -> dict[str, Any]:
    """A line's record; DataError if it is not one."""
    try:
        record = json.loads(line)
        if not isinstance(record, dict) or not isinstance(record.get("step"), int):
            raise ValueError('it must be an object with a "step"')
    except ValueError as error:
        where = f"{path}: the line before byte {end}"
        raise DataError(f"{where} is damaged ({error}): remove it, or resume the run from a checkpoint") from error
    return record


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object."""
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path} holds {type(value).__name__}, must be an object")
    return value


def record_of(kind: type[T], values: Mapping[str, Any]) -> T:
    """Fields that a newer version added are left out."""
    names = {item.name for item in fields(kind)}  # type: ignore[arg-type]  # every kind here is a dataclass
    try:
        return kind(**{name: value for name, value in values.items() if name in names})
    except TypeError as error:
        raise DataError(f"a {kind.__name__} of the run is damaged: {error}") from error
