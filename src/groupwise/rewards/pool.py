"""Processes that judge, each of which can be killed and replaced."""

import json
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Protocol

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.call import Judgement

START_S = 300.0  # a reward of your own may import much
GRACE_S = 0.5  # for the answer to arrive


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a worker judges with."""

    name: str = ""  # as load_reward takes it
    settings: Mapping[str, Any] = field(default_factory=dict)
    reward: Any = None  # or the reward itself
    timeout_s: float | None  # of one judgement, from when it begins; None: no limit
    memory_mb: int | None  # data of the process; None: no limit
    path: Sequence[str] = field(default_factory=lambda: list(sys.path))  # where its modules are found


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one job."""

    judgements: Sequence[Judgement]
    seconds: float  # judging
    waited: float  # for a worker that is free


class Lost(Exception):  # noqa: N818  # the pool catches it
    """There is no judgement; the worker is gone. `again`: it may have been an accident."""

    def __init__(self, why: str, *, again: bool) -> None:
        super().__init__(why)
        self.again = again


class Judging(Protocol):
    """What a pool has several of."""

    def judge(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[Judgement]:
        """A judgement of each text. Raises Lost if there is none within the limits."""
        ...

    def kill(self) -> None:
        """End it, whatever it is doing."""
        ...


class Worker:
    """One process. It is started anew, never forked: a trainer with threads and an accelerator cannot be."""

    def __init__(self, setup: Setup) -> None:
        if os.name != "posix":
            raise ConfigError(
                "rewards.workers: processes that can be killed and limited need Linux or macOS; set rewards.workers: 0 "
                "to judge in the trainer's own process, without limits"
            )
        ours, theirs = socket.socketpair()
        own = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "groupwise.rewards.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=os.environ | own,
            start_new_session=True,  # what the reward starts is of its group, and ends with it
        )
        theirs.close()
        self.line, self.limit_s = Connection(ours.detach()), setup.timeout_s
        try:
            self.line.send_bytes(pickle.dumps(setup))
            said = self._answer(START_S).decode()
        except (Lost, OSError) as error:
            self.kill()
            raise RewardError(f"the process that should judge with `{setup.name}` did not start: {error}") from error
        if said:
            self.kill()
            raise ConfigError(said.partition(": ")[2])

    def judge(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[Judgement]:
        """A judgement of each text. Raises Lost, the process killed, if there is none in time."""
        try:
            self.line.send_bytes(pickle.dumps((list(rows), list(texts))))
        except OSError as error:
            raise Lost(self._end(), again=True) from error
        limit = None if self.limit_s is None else self.limit_s * max(1, len(texts)) + GRACE_S
        return [_judgement(found) for found in json.loads(self._answer(limit))]

    def _answer(self, limit: float | None) -> bytes:
        try:
            if self.line.poll(limit):
                return self.line.recv_bytes()
        except (EOFError, OSError) as error:
            raise Lost(self._end(), again=True) from error
        self._end()
        raise Lost(f"took longer than {self.limit_s or limit:g} s", again=False)

    def _end(self) -> str:
        self.kill()
        self.line.close()
        status = self.process.returncode
        return f"its process ended by signal {-status}" if status < 0 else f"its process ended with status {status}"

    def kill(self) -> None:
        """End the process with all that it started, and reap it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.1)  # one that ended by itself says how
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Pool:
    """`workers` that judge, and a queue before them. A job is (rows, texts); its Future gives a Judged."""

    def __init__(self, setup: Setup, *, workers: int, start: Callable[[Setup], Judging] = Worker) -> None:
        self._state = _State(partial(start, setup), [None] * workers)
        self._threads = [threading.Thread(target=_serve, args=(self._state, i), daemon=True) for i in range(workers)]
        for thread in self._threads:
            thread.start()
        self._close = weakref.finalize(self, _close, self._state)  # at the interpreter's end too

    def submit(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> "Future[Judged]":
        """Judge these, in one job, when a worker is free."""
        job = _Job(rows, texts, Future(), time.monotonic())
        self._state.jobs.put(job)
        return job.future

    def close(self) -> None:
        """End all processes; what still waits is cancelled."""
        self._close()
        for thread in self._threads:
            thread.join(timeout=5.0)  # one that waits for a machine is left: it is a daemon


@dataclass(frozen=True, slots=True)
class _Job:
    rows: Sequence[Mapping[str, Any]]
    texts: Sequence[str]
    future: "Future[Judged]"
    asked: float
    again: bool = False  # its worker was lost once


@dataclass(slots=True)
class _State:
    """What the threads share; they know no Pool, so that one that is forgotten ends."""

    start: Callable[[], Judging]
    workers: list[Judging | None]
    jobs: "queue.Queue[_Job | None]" = field(default_factory=queue.Queue)
    closed: bool = False


def _serve(state: _State, place: int) -> None:
    """A thread's work: one worker, started with the first job, and replaced before the next one is taken."""
    while (job := state.jobs.get()) is not None:
        if not job.again and not job.future.set_running_or_notify_cancel():
            continue
        try:
            found = _judged(state, place, job)
        except BaseException as error:
            job.future.set_exception(error)
            continue
        if found is not None:
            job.future.set_result(found)
        if state.workers[place] is None and not state.closed:
            with suppress(Exception):  # the next job meets it again, and says so
                _start(state, place)


def _judged(state: _State, place: int, job: _Job) -> Judged | None:
    """None if the worker was lost by accident: another one judges."""
    worker = state.workers[place] or _start(state, place)
    began = time.monotonic()
    try:
        found: Sequence[Judgement] = worker.judge(job.rows, job.texts)
    except Lost as lost:
        state.workers[place] = None
        if lost.again and not job.again and not state.closed:
            state.jobs.put(replace(job, again=True))
            return None
        found = [Judgement(score=None, lost=str(lost))] * len(job.texts)
    return Judged(found, time.monotonic() - began, began - job.asked)


def _start(state: _State, place: int) -> Judging:
    worker = state.start()
    state.workers[place] = worker
    if state.closed:  # meanwhile
        worker.kill()
    return worker


def _close(state: _State) -> None:
    state.closed = True
    while not state.jobs.empty():
        if (job := state.jobs.get()) is not None:
            job.future.cancel()
    for worker in state.workers:
        state.jobs.put(None)
        if worker is not None:
            worker.kill()


def _judgement(found: Mapping[str, Any]) -> Judgement:
    steps = tuple((int(end), float(reward)) for end, reward in found["steps"])
    return Judgement(**{**found, "steps": steps})
