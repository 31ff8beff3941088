"""Write a run directory so that it can be read at any moment, and gone on with after any stop."""

import os
import shutil
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from groupwise.errors import ConfigError, DataError
from groupwise.runs import atomic, lock
from groupwise.runs.environment import this_process
from groupwise.runs.read import parse_line, read_config, read_environment
from groupwise.runs.schema import (
    BASE,
    CHECKPOINTS,
    CONFIG,
    ENVIRONMENT,
    EVENTS,
    FORMAT,
    GROUPS,
    LOCK,
    METRICS,
    MODEL,
    PROFILE,
    STATUS,
    TRACE,
    Environment,
    ErrorRecord,
    Event,
    GroupRecord,
    Level,
    ProcessRecord,
    State,
    Status,
)

LOGS = (METRICS, GROUPS, EVENTS)


class Run:
    """A run directory open for writing; as a context manager it records how the run ended.

    `step` is where training starts. `steps` and `keep_checkpoints` are those of the configuration's `train`
    section, and may be set at any time. Values are plain: numbers, text, lists and mappings of them.
    """

    def __init__(self, path: Path, *, config: Mapping[str, Any], step: int, writes: bool) -> None:
        """For `create`, `resume` and `join`, which see to the files."""
        self.path, self.config, self.step = path, config, step
        section = _train_section(config)
        self.steps: int | None = section.get("steps")
        self.keep_checkpoints: int = section.get("keep_checkpoints", 2)
        self._done = step
        self._state: State = "running"
        self._logs = {name: (path / name).open("ab", buffering=0) for name in LOGS if writes}

    @classmethod
    def create(
        cls, path: str | Path, *, config: Mapping[str, Any], overwrite: bool = False, devices: Sequence[str] = ()
    ) -> Self:
        """A new run in directory `path`. ConfigError if there is something in it.

        `overwrite` first removes what an earlier run wrote there, and nothing else; it does not touch a
        directory without a run. `devices` names the accelerators for `env.json`.
        """
        path = Path(path)
        config = _plain(config, "")
        text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)
        _refuse(path, overwrite)
        path.mkdir(parents=True, exist_ok=True)
        with lock.acquired(path):
            for name in (STATUS, *LOGS, ENVIRONMENT, CHECKPOINTS, MODEL, BASE, PROFILE, TRACE, CONFIG):
                _discard(path / name)
            atomic.write_file(path / CONFIG, text)
            return cls._start(path, config, step=0, processes=[this_process(0, devices)])

    @classmethod
    def resume(cls, path: str | Path, *, devices: Sequence[str] = ()) -> Self:
        """Go on from the newest whole checkpoint, or from step 0 if there is none.

        What was logged at steps that the checkpoint does not hold is removed: they are taken again.
        ConfigError if `path` is no run, or another process is writing it.
        """
        path = Path(path)
        if not (path / CONFIG).is_file():
            raise ConfigError(f"{path} cannot be resumed: it has no {CONFIG}, so it is not a run directory")
        with lock.acquired(path):
            config = read_config(path)
            for root in (path, path / CHECKPOINTS):
                atomic.clean(root)
            whole = atomic.checkpoints(path / CHECKPOINTS)
            step = atomic.step_of(whole[-1]) if whole else 0
            kept = {name: _cut(path / name, step) for name in LOGS}
            earlier = read_environment(path).processes if (path / ENVIRONMENT).exists() else ()
            run = cls._start(path, config, step=step, processes=[*earlier, this_process(step, devices)])
            for name in (METRICS, GROUPS):
                if kept[name] < step and (kept[name] or name == METRICS):  # not every writer logs groups
                    lost = f"{step - kept[name]} of the {step} steps before the checkpoint"
                    run.event(step, "lost_records", f"{name} holds no record of {lost}: the file was damaged or cut")
            return run

    @classmethod
    def join(cls, path: str | Path) -> Self:
        """The run as another rank of the same training sees it, once the leading rank opened it: it only reads."""
        path = Path(path)
        whole = atomic.checkpoints(path / CHECKPOINTS)
        return cls(path, config=read_config(path), step=atomic.step_of(whole[-1]) if whole else 0, writes=False)

    @classmethod
    def _start(cls, path: Path, config: Mapping[str, Any], *, step: int, processes: Sequence[ProcessRecord]) -> Self:
        environment = Environment(format=FORMAT, seed=_train_section(config).get("seed"), processes=processes)
        atomic.write_file(path / ENVIRONMENT, atomic.strict_json(asdict(environment), indent=2))
        run = cls(path, config=config, step=step, writes=True)
        run._write_status()
        return run

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Add a step's measurements, named `<group>/<name>`; the step then counts as done."""
        for name in metrics:
            if "/" not in name:
                raise ConfigError(f'metric "{name}" must be named <group>/<name>, such as "loss/{name}"')
        values = {name: float(value) for name, value in metrics.items()}
        self._append(METRICS, [{"step": step, "time": time.time(), **values}])
        self._done = max(self._done, step + 1)
        self._write_status()

    def log_groups(self, step: int, groups: Sequence[GroupRecord]) -> None:
        """Add the groups that a step learned from."""
        for group in groups:
            if group.step != step:
                raise ValueError(f"a GroupRecord of step {group.step} was logged at step {step}")
        completions = ([_shallow(completion) for completion in group.completions] for group in groups)
        self._append(GROUPS, [_shallow(g) | {"completions": c} for g, c in zip(groups, completions, strict=True)])

    def event(self, step: int, kind: str, message: str, *, level: Level = "warning", **details: Any) -> None:
        """Add an event that happened during `step`."""
        event = Event(step=step, time=time.time(), level=level, kind=kind, message=message, details=details)
        self._append(EVENTS, [asdict(event)])

    def save_checkpoint(self, step: int, write: Callable[[Path], None]) -> Path:
        """A checkpoint after `step` steps, filled by `write`; only the `keep_checkpoints` newest stay.

        Log steps up to `step - 1` first: what was logged before it is kept when the run is resumed from it.
        """
        assert self._logs, "only the leading rank writes"
        for file in self._logs.values():
            os.fsync(file.fileno())
        root = self.path / CHECKPOINTS
        atomic.clean(root)
        checkpoint = root / atomic.checkpoint_name(step)
        atomic.write_atomically(checkpoint, write)
        atomic.prune(root, self.keep_checkpoints)
        self._write_status()
        return checkpoint

    def latest_checkpoint(self) -> Path | None:
        """The newest whole checkpoint."""
        whole = atomic.checkpoints(self.path / CHECKPOINTS)
        return whole[-1] if whole else None

    def save_model(self, write: Callable[[Path], None]) -> Path:
        """The trained model, filled by `write`."""
        atomic.write_atomically(self.path / MODEL, write)
        return self.path / MODEL

    def save_base(self, write: Callable[[Path], object]) -> Path:
        """The model that training starts from, where the run makes it itself, filled by `write`."""
        atomic.write_atomically(self.path / BASE, write)
        return self.path / BASE

    def finish(self, state: State = "finished", **summary: Any) -> None:
        """Close the run. `summary` holds what it came to."""
        self._close(state, summary=summary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state != "running":
            return
        if error is None:
            self._close("finished")
        elif isinstance(error, KeyboardInterrupt):
            self._close("interrupted")
        else:
            lines = "".join(traceback.format_exception(error))
            self._close("failed", error=ErrorRecord(type=type(error).__name__, message=str(error), traceback=lines))

    def _close(
        self, state: State, *, error: ErrorRecord | None = None, summary: Mapping[str, Any] | None = None
    ) -> None:
        self._state = state
        if not self._logs:
            return
        for file in self._logs.values():
            if not file.closed:
                os.fsync(file.fileno())
                file.close()
        self._write_status(error=error, summary=summary or {}, durable=True)
        lock.release(self.path)

    def _write_status(
        self, *, error: ErrorRecord | None = None, summary: Mapping[str, Any] | None = None, durable: bool = False
    ) -> None:
        latest = self.latest_checkpoint()
        status = Status(
            state=self._state,
            step=self._done,
            steps=self.steps,
            time=time.time(),
            host=socket.gethostname(),
            pid=os.getpid(),
            checkpoint=f"{CHECKPOINTS}/{latest.name}" if latest else None,
            error=error,
            summary=summary or {},
        )
        atomic.write_file(self.path / STATUS, atomic.strict_json(asdict(status), indent=2), durable=durable)

    def _append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Whole lines or, where the disk is full, none."""
        assert self._logs, "only the leading rank writes"
        file = self._logs[name]
        rest = memoryview("".join(atomic.strict_json(record) + "\n" for record in records).encode())
        start = os.fstat(file.fileno()).st_size
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            file.truncate(start)
            raise


def _refuse(path: Path, overwrite: bool) -> None:
    """ConfigError if a new run cannot begin at `path`."""
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path} is a file, the run directory must be a new or an empty directory")
    ours = (CONFIG, LOCK, f".{CONFIG}{atomic.PARTIAL}")
    found = {item.name for item in path.iterdir()} if path.exists() else set()
    if CONFIG in found and not overwrite:
        raise ConfigError(
            f"{path} already holds a run: go on with it by `--resume {path}`, replace it by `--overwrite`, "
            "or choose another directory"
        )
    if CONFIG not in found and found.difference(ours):
        raise ConfigError(f"{path} holds files that are not a run's ({min(found)}): choose another directory")


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _cut(path: Path, step: int) -> int:
    """Keep the records of steps before `step`, in one atomic replacement; how many steps have some.

    Damage at the end (a half-written line, blocks lost with the power) goes with what is cut off;
    DataError if it lies before a record that is kept.
    """
    if not path.is_file():
        return 0
    partial = path.with_name(f".{path.name}{atomic.PARTIAL}")
    damage: DataError | None = None
    end = 0
    steps: set[int] = set()
    with path.open("rb") as old, partial.open("wb") as new:
        for line in old:
            end += len(line)
            try:
                record = parse_line(line, path, end=end)
            except DataError as error:
                damage = damage or error
                continue
            if record["step"] < step:
                if damage:
                    raise damage
                new.write(line.removesuffix(b"\n") + b"\n")
                steps.add(record["step"])
        new.flush()
        os.fsync(new.fileno())
    partial.replace(path)
    return len(steps)


def _shallow(record: Any) -> dict[str, Any]:
    """A dataclass as a dict, without copying its values: groups are long."""
    return {item.name: getattr(record, item.name) for item in fields(record)}


def _train_section(config: Mapping[str, Any]) -> Mapping[str, Any]:
    section = config.get("train")
    return section if isinstance(section, Mapping) else {}


def _plain(value: Any, name: str) -> Any:
    """The same in types that YAML knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{name}.{key}".strip(".")) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ConfigError(
        f"{name} = {value!r} of type {type(value).__name__} cannot be written to {CONFIG}: give plain values"
    )
