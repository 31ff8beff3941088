"""Workers, and whose turn it is: many callers at once, or one alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from groupwise.errors import ConfigError, SandboxError
from groupwise.sandbox.zygote import Setup, StartFailed, Zygote

CANDIDATE, JUDGE = "runner", "judge"  # modules in `child/`


class Worker:
    """A zygote for programs and, once tests are run, one for judges. Used by one caller at a time."""

    def __init__(self, setup: Setup, renew_after: int) -> None:
        self.setup, self.renew_after = setup, renew_after
        self.zygotes: dict[str, Zygote] = {}
        self.shared = False  # whether another execution ran beside the present one

    def zygote(self, role: str = CANDIDATE) -> Zygote:
        """The zygote of this role, started or renewed if need be. Raises SandboxError."""
        zygote = self.zygotes.get(role)
        if zygote is not None and zygote.jobs >= self.renew_after:
            self.zygotes.pop(role).close()
            zygote = None
        if zygote is None:
            try:
                zygote = self.zygotes[role] = Zygote(self.setup, role)
            except StartFailed as error:
                raise SandboxError(
                    f"a sandbox worker could not be started again: {error.call} failed: {error}. Something on this "
                    f"machine changed since the sandbox was opened; open a new one to see which tier still works"
                ) from None
        return zygote

    def restart(self) -> None:
        """Drop the zygotes; the next use starts new ones."""
        while self.zygotes:
            self.zygotes.popitem()[1].close()


class Pool:
    """Hands workers to callers. A caller that asks to be alone waits until no other runs."""

    def __init__(self, workers: list[Worker]) -> None:
        self._all = list(workers)
        self._idle = list(workers)
        self._busy: set[Worker] = set()
        self._changed = threading.Condition()
        self._alone_wanted = 0
        self._closed = False

    @contextmanager
    def turn(self, *, alone: bool = False) -> Iterator[Worker]:
        """A worker for the length of the block."""
        worker = self._take(alone)
        try:
            yield worker
        except ConfigError:
            raise  # the caller's mistake, the worker is fine
        except BaseException:
            worker.restart()  # its state is not known
            raise
        finally:
            with self._changed:
                self._busy.discard(worker)
                self._idle.append(worker)
                self._alone_wanted -= alone
                self._changed.notify_all()

    def _take(self, alone: bool) -> Worker:
        with self._changed:
            self._alone_wanted += alone
            try:
                while not self._closed and (self._busy if alone else self._alone_wanted or not self._idle):
                    self._changed.wait()
                if self._closed:
                    raise SandboxError("this sandbox is closed: open a new one")
            except BaseException:
                self._alone_wanted -= alone
                self._changed.notify_all()
                raise
            worker = self._idle.pop()
            worker.shared = bool(self._busy)
            for other in self._busy:
                other.shared = True
            self._busy.add(worker)
            return worker

    def pids(self) -> list[int]:
        """Of the zygotes that run now."""
        return [zygote.process.pid for worker in self._all for zygote in list(worker.zygotes.values())]

    def close(self) -> None:
        """Wait for what runs, then end all workers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while self._busy:
                self._changed.wait()
        for worker in self._all:
            worker.restart()
