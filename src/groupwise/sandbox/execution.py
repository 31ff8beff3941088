"""One child's execution, watched from the trainer: its pipes are filled and drained until its zygote reports."""

import marshal
import os
import select
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from groupwise.sandbox.zygote import Zygote, ZygoteGone

_STARTED = 6  # first byte on stdout: isolation is done (`child/zygote.py`)
_STDERR_KEPT = 64 << 10
_STDERR_MOST = 16 << 20
_GRACE = 20.0  # seconds after the wall-clock limit at which the zygote itself is held for hung
_ids = count()


@dataclass(slots=True)
class Sink:
    """A pipe that is read: at most `most` bytes, the first `kept` of them kept."""

    name: str
    most: int
    kept: int
    data: bytearray = field(default_factory=bytearray)
    seen: int = 0

    def take(self, part: bytes) -> bool:
        """Whether there is still room."""
        self.seen += len(part)
        if len(self.data) < self.kept:
            self.data += part[: self.kept - len(self.data)]
        return self.seen <= self.most


class Execution:
    """A job handed to a zygote."""

    def __init__(self, zygote: Zygote, *, cpu: float, wall: float, stdout: int, result: int) -> None:
        self.zygote, self.cpu, self.wall = zygote, cpu, wall
        self.id = next(_ids)
        self.stdout = Sink("stdout", stdout + 1, stdout + 1)
        self.stderr = Sink("stderr", _STDERR_MOST, _STDERR_KEPT)
        self.answers = Sink("answers", result, result)
        self.reply: dict[str, Any] | None = None
        self.overflow = ""
        self.sinks: dict[int, Sink] = {}
        self.sources: dict[int, memoryview] = {}
        self._theirs: list[int] = []

    def pipe_out(self, sink: Sink) -> None:
        """The next descriptor of the child: a pipe into `sink`."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self.sinks[reading] = sink
        self._theirs.append(writing)

    def pipe_in(self, data: bytes) -> None:
        """The next descriptor of the child: a pipe with `data` in it."""
        reading, writing = os.pipe()
        self._theirs.append(reading)
        os.set_blocking(writing, False)
        self.sources[writing] = memoryview(data)

    def hand_over(self, descriptor: int) -> None:
        """The next descriptor of the child: this one, which becomes ours to close."""
        self._theirs.append(descriptor)

    def start(self) -> None:
        """Send the job. Raises ZygoteGone."""
        request = {"id": self.id, "cpu": self.cpu, "wall": self.wall}
        for descriptor in list(self.sources):
            self.feed(descriptor)  # small jobs are in the pipe before the child is
        try:
            self.zygote.send(request, self._theirs)
            self.zygote.jobs += 1
        finally:
            self._close_theirs()

    def feed(self, descriptor: int) -> bool:
        """Write what fits; whether all is written (then the pipe is closed)."""
        data = self.sources[descriptor]
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            self.sources[descriptor] = data
            return False
        except OSError:
            pass  # the child does not read on
        del self.sources[descriptor]
        os.close(descriptor)
        return True

    def drain(self, descriptor: int) -> bool:
        """Read what is there; whether no more is to be read from it."""
        sink = self.sinks[descriptor]
        while True:
            try:
                part = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return False
            if part and sink.take(part):
                continue
            if not part:
                del self.sinks[descriptor]
                os.close(descriptor)
            elif not self.overflow:
                self.overflow = sink.name  # the pipe stays open: the program is to be ended, not to see it closed
                self.zygote.cancel(self.id)
            return True

    def finish(self) -> None:
        """Take what is left in the child's pipes, close them."""
        for descriptor in list(self.sinks):
            self.drain(descriptor)
        self.close()

    def close(self) -> None:
        """Give all descriptors back."""
        self._close_theirs()
        for descriptor in [*self.sinks, *self.sources]:
            os.close(descriptor)
        self.sinks, self.sources = {}, {}

    def _close_theirs(self) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs = []

    @property
    def started(self) -> bool:
        """Whether isolation was complete: from then on the program runs, and whatever happens is its doing."""
        failed = self.reply is not None and self.reply["why"] == "setup"  # the zygote's own word
        return self.stdout.data[:1] == bytes([_STARTED]) and not failed

    @property
    def trouble(self) -> str:
        """Why isolation failed, if it did."""
        reply = self.reply or {}
        return str(reply.get("message", "")) or bytes(self.stdout.data[1:]).decode(errors="replace")

    @property
    def printed(self) -> str:
        """What the program printed."""
        return bytes(self.stdout.data[1:]).decode(errors="replace")

    @property
    def complaints(self) -> str:
        """What the program wrote to stderr."""
        return bytes(self.stderr.data).decode(errors="replace")


def pump(executions: Sequence[Execution], on_reply: Callable[[Execution], None] | None = None) -> None:
    """Serve the pipes of executions that were started until all have their reply.

    Raises ZygoteGone if a zygote ends or hangs; the executions are closed then.
    """
    try:
        _pump(executions, on_reply)
    except ZygoteGone as error:
        for one in executions:
            one.finish()
        error.started = executions[0].started
        raise
    finally:
        for one in executions:
            one.close()


def _pump(executions: Sequence[Execution], on_reply: Callable[[Execution], None] | None) -> None:
    poller = select.poll()
    owners: dict[int, Execution] = {}
    for one in executions:
        for descriptor in one.sinks:
            poller.register(descriptor, select.POLLIN)
            owners[descriptor] = one
        for descriptor in one.sources:
            poller.register(descriptor, select.POLLOUT)
            owners[descriptor] = one
        poller.register(one.zygote.channel, select.POLLIN)
        owners[one.zygote.channel.fileno()] = one
    deadline = time.monotonic() + max(one.wall for one in executions) + _GRACE
    waiting = len(executions)
    while waiting:
        ready = poller.poll(max(0.0, 1000 * (deadline - time.monotonic())))
        if not ready:
            _give_up(executions)
        for descriptor, _ in ready:
            one = owners[descriptor]
            if descriptor in one.sinks:
                if one.drain(descriptor):
                    poller.unregister(descriptor)
            elif descriptor in one.sources:
                if one.feed(descriptor):
                    poller.unregister(descriptor)
            elif descriptor == one.zygote.channel.fileno() and one.reply is None and _answered(one):
                waiting -= 1
                for left in [*one.sinks, *one.sources, descriptor]:
                    with suppress(KeyError):  # one that ran over is no longer polled
                        poller.unregister(left)
                one.finish()
                if on_reply is not None:
                    on_reply(one)


def _answered(one: Execution) -> bool:
    reply = one.zygote.receive()
    if reply is None or reply.get("id") != one.id:
        return False
    one.reply = reply
    return True


def _give_up(executions: Sequence[Execution]) -> None:
    for one in executions:
        if one.reply is None:
            one.zygote.process.kill()
    raise ZygoteGone("no reply long after the wall-clock limit")


def message(job: dict[str, Any]) -> bytes:
    """A job as the child, which trusts us, reads it."""
    body = marshal.dumps(job)
    return struct.pack("=I", len(body)) + body
