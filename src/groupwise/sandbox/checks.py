"""Test code against a program, each in a child of its own: they meet over two pipes."""

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from groupwise.errors import ConfigError
from groupwise.sandbox.child import values, wire
from groupwise.sandbox.child.judge import CODE
from groupwise.sandbox.child.runner import LOST_CODE, MEMORY_CODE
from groupwise.sandbox.execution import Execution, message, pump
from groupwise.sandbox.judgement import SEED, Outcome, check_started, ended, exit_of, new_execution, signal_of, usage
from groupwise.sandbox.limits import Limits
from groupwise.sandbox.pool import CANDIDATE, JUDGE, Worker
from groupwise.sandbox.verdict import WORDS, Case

_JUDGE_SEED = 5077
_MOST_COMPILED = 64 << 20  # bytes of compiled tests that are kept
_MORE_WALL = 3.0  # seconds that the judge waits longer than the program may take


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What a program is held against."""

    source: str
    tests: str
    entry: str | None
    prelude: str = ""


class Compiled:
    """Compiled tests, as judges hand them over; bytes that are never looked into here. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0

    def get(self, task: Task) -> bytes:
        """Empty if there are none yet."""
        with self._lock:
            found = self._known.get((task.tests, task.prelude), b"")
            if found:
                self._known.move_to_end((task.tests, task.prelude))
            return found

    def put(self, task: Task, code: bytes) -> None:
        """Keep these; the least used go when there are too many."""
        key = (task.tests, task.prelude)
        with self._lock:
            if key in self._known:
                return
            self._known[key] = code
            self._size += len(code)
            while self._size > _MOST_COMPILED:
                self._size -= len(self._known.popitem(last=False)[1])


def tests(worker: Worker, limits: Limits, task: Task, compiled: Compiled) -> Outcome:
    """Run the tests. Raises ZygoteGone, NotStarted, and ConfigError for tests that no program can pass."""
    program = new_execution(worker.zygote(CANDIDATE), limits)
    judge = new_execution(worker.zygote(JUDGE), replace(limits, wall_s=limits.wall + _MORE_WALL))
    try:
        _connect(program, judge, task, compiled.get(task))
        program.start()
        judge.start()
    except BaseException:
        program.close()
        judge.close()
        raise

    def judged(one: Execution) -> None:
        if one is judge and program.reply is None:
            program.zygote.cancel(program.id)

    pump([program, judge], judged)
    check_started(judge)
    frames = _frames(judge)
    if frames and frames[0][:1] == CODE:  # sent before the judge had heard from the program
        compiled.put(task, frames.pop(0)[1:])
    report = _report(frames)
    if report is not None and report[0] == "tests":  # found without the program, which may not have started yet
        raise ConfigError(f"run_tests: {report[3]}")
    check_started(program)
    case, passed, total = _said(program, judge, report)
    return Outcome(
        cases=(case,),
        passed=passed,
        total=total,
        stdout=program.printed,
        stderr=program.complaints,
        **usage([program]),
    )


def _connect(program: Execution, judge: Execution, task: Task, code: bytes) -> None:
    program.pipe_in(message({"mode": "serve", "seed": SEED, "source": task.source}))
    judge.pipe_in(
        message(
            {
                "mode": "tests",
                "seed": _JUDGE_SEED,
                "tests": "" if code else task.tests,
                "entry": task.entry,
                "prelude": "" if code else task.prelude,
                "code": code,
            }
        )
    )
    judge.pipe_out(judge.answers)
    for one, other in ((program, judge), (judge, program)):  # answers, then calls
        reading, writing = os.pipe()
        one.hand_over(writing)
        other.hand_over(reading)


def _said(program: Execution, judge: Execution, report: tuple[str, int, int, str] | None) -> tuple[Case, int, int]:
    """The case, how many passed, how many there are."""
    over = ended(program)
    if report is None:
        late = ended(judge)
        if late is not None:
            return Case(verdict=late.verdict, message=f"the tests: {late.message}"), 0, 1
        if exit_of(judge) == MEMORY_CODE:
            return Case(verdict="memory", message="the tests: MemoryError"), 0, 1
        how = f"signal {signal_of(judge)}" if signal_of(judge) else f"status {exit_of(judge)}"
        return Case(verdict="error", message=f"the tests ended by themselves with {how}"), 0, 1
    word, passed, total, text = report
    if over is not None and over.verdict == "output_limit":
        return over, 0, max(total, 1)
    if word == "gone":
        case = over or _gone(program, text)
        return case, min(passed, max(total - 1, 0)), max(total, 1)
    if word not in WORDS or word == "sandbox_error" or (word == "pass" and not 0 < passed == total):
        return Case(verdict="error", message=f"the tests reported {word[:40]!r}, {passed} of {total}"), 0, 1
    return Case(verdict=word, message=text), passed, total  # type: ignore[arg-type]  # checked above


def _gone(program: Execution, text: str) -> Case:
    if signal_of(program):
        return Case(verdict="crash", message=f"ended by signal {signal_of(program)} {text}")
    if exit_of(program) == MEMORY_CODE:
        return Case(verdict="memory", message="MemoryError")
    if exit_of(program) == LOST_CODE:
        return Case(verdict="error", message="the program broke what it needs to answer")
    return Case(verdict="exited_early", message=f"ended with status {exit_of(program)} {text}")


def _frames(judge: Execution) -> list[bytes]:
    try:
        return wire.split(judge.answers.data, 2)
    except wire.Broken:
        return []


def _report(frames: list[bytes]) -> tuple[str, int, int, str] | None:
    """The judge's one report; None if it left none."""
    if len(frames) != 1:
        return None
    try:
        parts: list[Any] = values.loads(frames[0])
    except values.Malformed:
        return None
    if [type(part) for part in parts] != [str, int, int, str] or not 0 <= parts[1] <= parts[2]:
        return None
    return parts[0], parts[1], parts[2], parts[3][1:]
