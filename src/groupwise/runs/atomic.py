"""Files and directories that are there whole or not at all, whenever the process or the machine stops."""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groupwise.errors import ConfigError

PARTIAL = ".partial"  # a directory being written or removed
REPLACED = ".replaced"  # a directory that is about to be replaced, until its successor is in place
_STEP = re.compile(r"step_(\d{8,})")


def strict_json(value: Any, *, indent: int | None = None) -> str:
    """JSON with null for numbers that are not finite; ASCII, so that any text survives."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, indent=indent)


def write_file(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace a file as a whole; `durable` waits for the disk, so that it outlives a power failure."""
    partial = path.with_name(f".{path.name}{PARTIAL}")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    partial.replace(path)
    if durable:
        _sync(path.parent)


def write_atomically(directory: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a new directory beside `directory`, wait for the disk, then put it in place by its name.

    Where `directory` exists it is replaced. A stop at any moment leaves the old one or the new one, whole;
    one that falls between the two renames of a replacement leaves the old one aside, where `recover` finds it.
    If `write` raises, nothing is left behind.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    recover(directory)
    for stale in _leftovers(directory.parent, re.escape(directory.name)):
        shutil.rmtree(stale)
    partial = _partial(directory)
    partial.mkdir()
    try:
        write(partial)
        for path in [*partial.rglob("*"), partial]:
            if not path.is_symlink():
                _sync(path)
    except BaseException as error:
        number = _system_error(error, partial)
        shutil.rmtree(partial, ignore_errors=True)
        if number:
            raise OSError(number, os.strerror(number), str(directory)) from error
        raise
    replaced = _aside(directory)
    if directory.exists():
        directory.rename(replaced)
    partial.rename(directory)
    _sync(directory.parent)
    if replaced.exists():
        _remove(replaced)


def _system_error(error: BaseException, place: Path) -> int:
    """The operating system's error behind what a library that writes files itself has raised; 0 if there is none."""
    if isinstance(error, OSError) or not isinstance(error, Exception):
        return 0
    if found := re.search(r"os error (\d+)", str(error)):  # safetensors
        return int(found[1])
    return errno.ENOSPC if shutil.disk_usage(place).free < 1 << 16 else 0  # torch


def recover(directory: Path) -> None:
    """Put back a directory whose replacement was cut short."""
    replaced = _aside(directory)
    if replaced.exists():
        if directory.exists():
            _remove(replaced)
        else:
            replaced.rename(directory)


def clean(root: Path) -> None:
    """Remove what stopped writers left in `root`, and put back what they had set aside.

    For a `root` with a single writer: what another process is writing there now would be removed as well.
    """
    if root.is_dir():
        for replaced in [path for path in root.iterdir() if path.name.endswith(REPLACED)]:
            recover(replaced.with_name(replaced.name[1 : -len(REPLACED)]))
        for stale in _leftovers(root, ".+"):
            shutil.rmtree(stale)


def checkpoint_name(step: int) -> str:
    """Directory name of the checkpoint taken after `step` steps."""
    return f"step_{step:08d}"


def step_of(checkpoint: Path) -> int:
    """How many steps were done at this checkpoint."""
    found = _STEP.fullmatch(checkpoint.name)
    if not found:
        raise ConfigError(f"{checkpoint} is not a checkpoint: its name must be like {checkpoint_name(100)}")
    return int(found[1])


def checkpoints(root: Path) -> list[Path]:
    """The whole checkpoints in `root`, oldest first."""
    if not root.is_dir():
        return []
    return sorted((path for path in root.iterdir() if _STEP.fullmatch(path.name) and path.is_dir()), key=step_of)


def prune(root: Path, keep: int) -> None:
    """Remove all but the `keep` newest checkpoints."""
    if keep < 1:
        raise ConfigError(
            f"keep_checkpoints = {keep}, must be at least 1: the newest checkpoint is what a run resumes from"
        )
    for old in checkpoints(root)[:-keep]:
        _remove(old)


def _remove(directory: Path) -> None:
    """First take its name away: a removal cut short must not leave a part that looks whole."""
    doomed = _partial(directory)
    directory.rename(doomed)
    shutil.rmtree(doomed)


def _partial(directory: Path) -> Path:
    """A new name beside it, for what is being written or removed."""
    name = directory.name.removeprefix(".").removesuffix(REPLACED)
    return directory.with_name(f".{name}.{secrets.token_hex(4)}{PARTIAL}")


def _leftovers(root: Path, name: str) -> list[Path]:
    """What `_partial` named and a stop left behind; `name` is a pattern."""
    pattern = re.compile(rf"\.{name}\.[0-9a-f]{{8}}{re.escape(PARTIAL)}")
    return [path for path in root.iterdir() if pattern.fullmatch(path.name)]


def _aside(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}{REPLACED}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
