"""One writer at a time: a lock on the run directory that ends with the process that holds it, however it ends."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from groupwise.errors import ConfigError
from groupwise.runs.schema import LOCK

# A POSIX record lock ends when its process closes any handle of the file: never open the file of a lock we hold.
_held: dict[Path, IO[bytes]] = {}


def acquire(directory: Path) -> None:
    """Hold the directory's lock; ConfigError if another process does. Child processes do not inherit it."""
    path = (directory / LOCK).resolve()
    if path in _held:
        return
    file = path.open("ab")
    for attempt in range(5):
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except (BlockingIOError, PermissionError):  # a reader holds it for a moment, a writer for long
            if attempt == 4:
                file.close()
                raise ConfigError(
                    f"{directory} is being written by another process: stop that one first, or choose another directory"
                ) from None
            time.sleep(0.1)
        except OSError:  # a file system without locks: go on without
            break
    _held[path] = file


@contextlib.contextmanager
def acquired(directory: Path) -> Iterator[None]:
    """Acquire the lock for what follows, and keep it unless that raises."""
    acquire(directory)
    try:
        yield
    except BaseException:
        release(directory)
        raise


def release(directory: Path) -> None:
    """Let go of the directory's lock, if this process holds it."""
    file = _held.pop((directory / LOCK).resolve(), None)
    if file:
        file.close()


def is_held(directory: Path) -> bool:
    """Whether some process holds the directory's lock; also True where that cannot be told."""
    path = (directory / LOCK).resolve()
    if path in _held:
        return True
    try:
        with path.open("rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except OSError:
        return True
