"""Running programs that nobody has read, and saying whether they are right."""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from groupwise.errors import ConfigError, SandboxError
from groupwise.sandbox import canary, checks, judgement, paths, probe
from groupwise.sandbox.child import values
from groupwise.sandbox.compare import same, same_as_json
from groupwise.sandbox.judgement import NotStarted, Outcome
from groupwise.sandbox.limits import Limits
from groupwise.sandbox.pool import CANDIDATE, JUDGE, Pool, Worker
from groupwise.sandbox.verdict import Case, Verdict
from groupwise.sandbox.zygote import Setup, StartFailed, Zygote, ZygoteGone

ATTEMPTS = 4  # at one judgement, if the worker is killed meanwhile
IN_A_ROW = 5  # judgements that fail for the sandbox's own reasons before it gives up
RENEW_AFTER = 20_000  # jobs of one zygote


class Sandbox:
    """Runs Python programs in isolation and judges them.

        with Sandbox(workers=2) as box:
            verdict = box.run_calls(source, entry="add", inputs=[[1, 2]], expected=[3])

    `workers` programs run at once; any number of threads may call. `tier` names the least isolation that will do:
    "namespaces", "landlock", or None for the better of the two that works here. If it does not work the constructor
    raises SandboxError, which names the system call that was refused; `allow_unsafe=True` takes what is left and
    says so in every verdict. `packages` are installed packages that programs may import beside the standard library.
    The further settings are those of `Limits`.

    The program's process never holds an expected value and never states a verdict.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        tier: str | None = None,
        allow_unsafe: bool = False,
        packages: Sequence[str] = (),
        retry_timeouts: bool = True,
        **limits: Any,
    ) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 256:
            raise ConfigError(f"sandbox: workers = {workers!r}, must be a whole number from 1 to 256")
        probe.only_linux()
        self.limits = _limits(limits)
        self.retry_timeouts = retry_timeouts
        tiers = probe.wanted(tier, allow_unsafe=allow_unsafe)
        setups = {name: _setup(name, tuple(packages), self.limits) for name in tiers}
        first, self._refusals = probe.find(setups, allow_unsafe=allow_unsafe)
        self.tier = next(name for name in setups if name not in {refusal.tier for refusal in self._refusals})
        self.about = dict(first.about)
        team = [Worker(setups[self.tier], RENEW_AFTER) for _ in range(workers)]
        team[0].zygotes[CANDIDATE] = first
        self._pool = Pool(team)
        self._compiled = checks.Compiled()
        self._failures = 0
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, _close, self._pool, os.getpid())

    # --- judging ------------------------------------------------------------------------------------------------

    def run_calls(
        self,
        source: str,
        *,
        entry: str,
        inputs: Sequence[Any],
        expected: Sequence[Any],
        slack: float = 1e-6,
        as_json: bool = False,
    ) -> Verdict:
        """Call `entry` with each of `inputs` and compare what it returns with `expected`.

        An input is a sequence of positional arguments or a mapping of keyword arguments. `entry` is a function's
        name, or "Class.method" for a method of a fresh object. Values are plain data: None, bool, int, float, str,
        bytes, list, tuple, dict, set and the like. Types must be the expected ones; where a float is expected the
        answer may differ by `slack`, relatively. With `as_json`, for expected values from a file, a tuple is as good as
        a list, and a number as a dict's key as its text. Raises ConfigError for values that are not plain data.
        """
        _same_length("inputs", inputs, "expected", expected)
        try:
            encoded = [judgement.arguments(one) for one in inputs]
            right = [values.encode(one, strict=True) for one in expected]
        except (TypeError, values.TooLarge) as error:
            raise ConfigError(f"run_calls: inputs and expected values must be plain data: {error}") from None
        job = {"mode": "calls", "seed": judgement.SEED, "source": source, "entry": entry, "calls": encoded}
        like = partial(same_as_json if as_json else same, relative=slack)
        return self._judged(lambda worker: judgement.calls(worker.zygote(), self.limits, job, right, like), len(right))

    def run_stdio(self, source: str, *, stdin: str | Sequence[str], expected: str | Sequence[str]) -> Verdict:
        """Run the program as a script on `stdin` and compare what it prints with `expected`, whole.

        Blanks at the ends of lines and empty lines at the end are forgiven. Lists run the program once for each.
        """
        stdins = [stdin] if isinstance(stdin, str) else list(stdin)
        outputs = [expected] if isinstance(expected, str) else list(expected)
        _same_length("stdin", stdins, "expected", outputs)
        return self._judged(
            lambda worker: judgement.stdio(worker.zygote(), self.limits, source, stdins, outputs), len(outputs)
        )

    def run_tests(self, source: str, *, tests: str, entry: str | None = None, prelude: str = "") -> Verdict:
        """Run test code against the program, in a process of its own.

        `tests` is Python: a function `check(candidate)` as in HumanEval, assertions at the top of the file as in
        MBPP, functions `test_...`, classes `Test...` or unittest's. There `candidate` and the name `entry` stand
        for the program's function (without `entry`, every name that the tests use and do not define), and
        `from solution import ...` works. Arguments and results travel as plain data; lists, dicts and sets among
        the arguments are changed as the program changes them; builtin exceptions arrive by name.

        `passed` of `total` counts assertions at the top and in `check`, which go on after one that failed, and
        tests elsewhere. `prelude` is run before the tests: helpers that they call (HumanEval's prompt).
        Raises ConfigError for tests that cannot be compiled.
        """
        task = checks.Task(source=source, tests=tests, entry=entry, prelude=prelude)

        def attempt(worker: Worker) -> Outcome:
            self._canary(worker.zygote(JUDGE))
            return checks.tests(worker, self.limits, task, self._compiled)

        return self._judged(attempt, 1)

    # --- one judgement ------------------------------------------------------------------------------------------

    def _judged(self, attempt: Callable[[Worker], Outcome], total: int) -> Verdict:
        verdict, shared = self._once(attempt, total, alone=False)
        if verdict.verdict == "timeout" and shared and self.retry_timeouts:
            verdict, _ = self._once(attempt, total, alone=True)
        with self._lock:
            self._failures = 0 if verdict.scored else self._failures + 1
            failures = self._failures
        if failures >= IN_A_ROW:
            raise SandboxError(
                f"{failures} judgements in a row failed for reasons of the sandbox's own, the last: "
                f"{verdict.message}. Nothing is known about these programs; see whether memory or processes ran out"
            )
        return verdict

    def _once(self, attempt: Callable[[Worker], Outcome], total: int, *, alone: bool) -> tuple[Verdict, bool]:
        """The verdict, and whether another program ran at the same time."""
        why, started = "", 0
        for _ in range(ATTEMPTS):
            try:
                with self._pool.turn(alone=alone) as worker:
                    self._canary(worker.zygote())
                    outcome = attempt(worker)
                    return self._verdict(outcome), worker.shared
            except ZygoteGone as error:
                started += error.started
                why = f"the worker ended {ATTEMPTS} times while it ran this: {error}"
            except NotStarted as error:
                why = str(error)
        case = Case(verdict="crash" if started == ATTEMPTS else "sandbox_error", message=why)
        return self._verdict(Outcome(cases=(case,), passed=0, total=total)), False

    def _canary(self, zygote: Zygote) -> None:
        if zygote.jobs and zygote.jobs % canary.EVERY:
            return
        try:
            out = canary.ways_out(zygote, self.tier)
        except StartFailed as error:
            raise NotStarted(f"{error.call}: {error}") from None
        if out:
            raise SandboxError(f"the sandbox leaks: a program could {', '.join(out)}. Nothing more is run in it")

    def _verdict(self, outcome: Outcome) -> Verdict:
        worst = outcome.worst
        return Verdict(
            verdict=worst.verdict,
            passed=outcome.passed,
            total=outcome.total,
            tier=self.tier,
            integrity=self.integrity,
            cpu_s=outcome.cpu_s,
            wall_s=outcome.wall_s,
            memory_mb=outcome.memory_mb,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            message=worst.message,
            limits=self.active_limits,
            cases=outcome.cases,
        )

    # --- about it -----------------------------------------------------------------------------------------------

    @property
    def integrity(self) -> str:
        """Either "isolated" or, where a program could read the answers, "unprotected"."""
        return "unprotected" if self.tier == "rlimits" else "isolated"

    @property
    def active_limits(self) -> tuple[str, ...]:
        """The limits that really hold here."""
        limits = self.limits
        names = [
            f"cpu {limits.cpu_s:g} s",
            f"wall {limits.wall:g} s",
            f"address space +{limits.memory_mb:g} MiB",
            f"stdout {limits.stdout_kb:g} KiB",
            f"answers {limits.result_mb:g} MiB",
            "open files 64",
        ]
        if self.tier == "namespaces":
            names += [f"threads {limits.threads}", f"/tmp {limits.scratch_mb:g} MiB in 1024 files"]
        return tuple(names)

    def report(self) -> str:
        """The tier, the limits that are active, what is refused, what is missing."""
        refused = {
            "namespaces": "processes, sockets, signals to others; files but Python's own, shared libraries and /tmp",
            "landlock": "processes, sockets, signals to others; files but Python's own and shared libraries; writing",
            "rlimits": "nothing is hidden"
            + (", but processes and sockets are refused" if self.about["seccomp"] else ""),
        }[self.tier]
        lines = [
            f"tier: {self.tier} ({self.integrity})",
            f"limits: {', '.join(self.active_limits)}",
            f"refused: {refused}",
            f"seccomp: {'on' if self.about['seccomp'] else 'OFF'}; Landlock: "
            + (f"ABI {self.about['landlock']}" if self.about["landlock"] else "OFF"),
            "memory of all children together: not limited by a cgroup, only child by child",
        ]
        lines += [f"note: {note}" for note in self.about["notes"]]
        lines += [f"not available: {refusal}" for refusal in self._refusals]
        return "\n".join(lines)

    def pids(self) -> list[int]:
        """Process ids of the zygotes that run now."""
        return self._pool.pids()

    def close(self) -> None:
        """Wait for what runs, then end every process."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close(pool: Pool, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of the process that opened it
        pool.close()


def _setup(tier: str, packages: tuple[str, ...], limits: Limits) -> Setup:
    return Setup(
        tier=tier,
        paths=paths.visible(packages),
        limits=limits.for_child(),
        preload=packages,
        deny=probe.denied(),
    )


def _limits(given: dict[str, Any]) -> Limits:
    known = Limits.__dataclass_fields__
    for name in given:
        if name not in known:
            raise ConfigError(f"sandbox: unknown setting `{name}`. The limits are {', '.join(known)}")
    return Limits(**given)


def _same_length(first: str, one: Sequence[Any], second: str, other: Sequence[Any]) -> None:
    if len(one) != len(other) or not len(one):
        raise ConfigError(
            f"sandbox: {len(one)} {first} and {len(other)} {second}; there must be as many, and one at least"
        )
