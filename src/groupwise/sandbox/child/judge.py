"""The child that runs test code, against a program that runs elsewhere.

Descriptors: 0 stdin, 1 stdout, 2 stderr, 3 the job, 4 the report, 5 answers of the program, 6 calls to it.
"""

import marshal
import os
import random
import sys
import types
from collections.abc import Callable
from typing import Any

from . import pytest_like, rewrite, runner, values, wire
from .proxy import Link, Stop

JOB, REPORT = 3, 4
CODE = b"C"  # begins the message that holds compiled tests
_MODULES = ("solution", "program", "candidate")  # names under which test files may import the program


def warm_up() -> None:
    """Do once in the zygote what every child does, so that what it sets up is there for all."""
    runner.warm_up()
    prelude = "import math\nfor x in [1]:\n    assert abs(x - 1) < 1e-6, 'x'\n"
    rewrite.load(rewrite.prepare(prelude + "def check(f):\n    assert f([1]) == {'a': (1,)}\n", prelude).dump())


def main() -> None:
    """Run the tests of the job on descriptor 3, report, end the process."""
    job = marshal.loads(wire.Reader(JOB, 1 << 30).read())
    if job["mode"] == "calls":  # a canary
        runner.run(job)
    os.close(JOB)
    random.seed(job["seed"])
    link = Link()
    tally = Tally()
    try:
        _run(job, link, tally)
    except Stop:
        pass
    except _BadTests as error:
        _report("tests", 0, 0, str(error))
    word, message = link.why or ("", "")
    if not word:
        word, message = tally.word(link)
    _report(word, tally.passed, tally.total(complete=link.why is None), message)


def _report(word: str, passed: int, total: int, message: str) -> None:
    wire.write(REPORT, values.dumps([word, passed, total, "s" + message[:500]]))
    os._exit(0)


class _BadTests(Exception):  # noqa: N818  # says what is bad
    """The test code itself is wrong, whatever the program does."""


class Tally:
    """How the assertions and tests came out."""

    def __init__(self) -> None:
        self.passed = 0
        self.executed = 0
        self.least = 0  # assertions there are in the text
        self.asserted = 0  # assertions that held, inside tests that are counted as one
        self.first: tuple[str, str] | None = None  # (word, message) of the first that is not right
        self.broken_off = False

    def right(self) -> None:
        """One more that came out right."""
        self.passed += 1
        self.executed += 1

    def wrong(self, where: str, error: BaseException) -> None:
        """One more that did not."""
        self.executed += 1
        kind = "fail" if isinstance(error, AssertionError) else "error"
        try:
            text = str(error)
        except Exception:
            text = ""
        self.first = self.first or (kind, f"{where}: {type(error).__name__}: {text[:300]}")

    def watch(self, line: int, going_on: bool) -> "_Watched":
        """What compiled tests wrap an assertion in."""
        return _Watched(self, line, going_on)

    def total(self, *, complete: bool) -> int:
        """All that ran; if not all could, as many as the text holds."""
        if complete and not self.broken_off:
            return self.executed
        return max(self.executed, self.least, 1)

    def word(self, link: Link) -> tuple[str, str]:
        """The verdict's word and message."""
        if self.first is not None:
            return ("memory", self.first[1]) if link.memory else self.first
        if not self.executed:
            return "fail", "no assertion was executed"
        return "pass", ""


class _Watched:
    __slots__ = ("going_on", "line", "tally")

    def __init__(self, tally: Tally, line: int, going_on: bool) -> None:
        self.tally, self.line, self.going_on = tally, line, going_on

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None:
            if self.going_on:
                self.tally.right()
            else:
                self.tally.asserted += 1
            return False
        if not self.going_on or not isinstance(error, Exception):
            return False
        self.tally.wrong(f"line {self.line}", error)
        return True


def _run(job: dict[str, Any], link: Link, tally: Tally) -> None:
    tests = _compiled(job)
    tally.least = tests.assertions
    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    space = module.__dict__
    try:
        exec(tests.prelude, space)
    except Exception as error:
        raise _BadTests(f"the prelude cannot be run: {type(error).__name__}: {error}") from None
    program = link.function(job["entry"]) if job["entry"] else None
    names = {job["entry"].partition(".")[0], "candidate"} if job["entry"] else set(tests.free) - set(space)
    space.update({name: program or link.function(name) for name in names})
    space[rewrite.WATCH] = tally.watch
    _offer(link)
    link.open()
    before = dict(space)
    _guarded("the tests", lambda: exec(tests.code, space), tally, counted=False)
    check = space.get("check")
    if callable(check) and check is not before.get("check") and not tests.calls_check:
        target = program or link.function(next(iter(names), "candidate"))
        _guarded("check", lambda: check(target), tally, counted=False)
    _run_tests(space, before, link, tally)
    if tally.asserted and not tally.executed:
        tally.right()  # assertions inside `try`, `with` or helpers only


def _compiled(job: dict[str, Any]) -> rewrite.Tests:
    """The tests, compiled; the first time they are also reported, before the program has said anything."""
    if job["code"]:
        return rewrite.load(job["code"])
    try:
        tests = rewrite.prepare(job["tests"], job["prelude"])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _BadTests(f"the tests cannot be compiled: {type(error).__name__}: {error}") from None
    wire.write(REPORT, CODE + tests.dump())
    return tests


def _offer(link: Link) -> None:
    """`from solution import f`, and a little pytest."""
    for name in _MODULES:
        module = types.ModuleType(name)
        module.__getattr__ = link.function  # type: ignore[method-assign]
        sys.modules[name] = module
    sys.modules["pytest"] = pytest_like.module()


def _guarded(where: str, act: Callable[[], object], tally: Tally, *, counted: bool) -> None:
    """Run a piece of test code: what it raises is a case that failed, what it does not is one that passed."""
    try:
        act()
    except pytest_like.Skipped:
        return
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        tally.broken_off = tally.broken_off or not counted
        tally.wrong(where, error)
        return
    if counted:
        tally.right()


# --- test functions and classes ---------------------------------------------------------------------------------


def _run_tests(space: dict[str, Any], before: dict[str, Any], link: Link, tally: Tally) -> None:
    new = [(name, one) for name, one in space.items() if before.get(name) is not one]
    fixtures = {one.fixture_name: one for _, one in new if hasattr(one, "fixture_name")}
    unittest = sys.modules.get("unittest")  # only if the tests import it: it is large
    own = {name: value for name, value in before.items() if not name.startswith("__")}
    for name, one in new:
        if isinstance(one, types.FunctionType) and name.startswith("test") and not hasattr(one, "fixture_name"):
            _run_function(name, one, fixtures, own, (link, tally))
        elif isinstance(one, type) and unittest is not None and issubclass(one, unittest.TestCase):
            for method in unittest.defaultTestLoader.getTestCaseNames(one):
                _counted(f"{name}.{method}", lambda one=one, method=method: _unittest(one, method), link, tally)  # type: ignore[misc]
        elif isinstance(one, type) and name.startswith("Test"):
            for method in [key for key in vars(one) if key.startswith("test")]:
                _run_function(f"{name}.{method}", _method(one, method), fixtures, own, (link, tally))


def _method(kind: type, name: str) -> Callable[..., Any]:
    made = kind()
    if hasattr(made, "setup_method"):
        made.setup_method()
    return getattr(made, name)  # type: ignore[no-any-return]


def _run_function(
    name: str,
    test: Callable[..., Any],
    fixtures: dict[str, Any],
    own: dict[str, Any],
    ends: tuple[Link, Tally],
) -> None:
    if getattr(test, "set_aside", False):
        return
    for row in pytest_like.rows_of(test):

        def once(row: dict[str, Any] = row) -> None:
            known = {**own, **row}
            test(**{asked: _argument(asked, known, fixtures) for asked in pytest_like.wanted_by(test)})

        _counted(name, once, *ends)


def _argument(name: str, known: dict[str, Any], fixtures: dict[str, Any]) -> Any:
    if name in known:
        return known[name]
    if name not in fixtures:
        raise _BadTests(f"a test asks for {name!r}, which is neither a fixture nor the program")
    made = fixtures[name](**{one: _argument(one, known, fixtures) for one in pytest_like.wanted_by(fixtures[name])})
    return next(made) if isinstance(made, types.GeneratorType) else made


def _counted(where: str, act: Callable[[], object], link: Link, tally: Tally) -> None:
    """One test is one case, if it asserts anything or asks anything of the program."""
    asked, asserted, wrong = link.calls, tally.asserted, tally.executed - tally.passed
    passed = tally.passed
    _guarded(where, act, tally, counted=True)
    if link.why is not None:
        raise Stop
    idle = (link.calls, tally.asserted, tally.executed - tally.passed) == (asked, asserted, wrong)
    if idle and tally.passed == passed + 1:
        tally.passed -= 1
        tally.executed -= 1


def _unittest(kind: Any, method: str) -> None:
    result = sys.modules["unittest"].TestResult()
    kind(method).run(result)
    if result.skipped:
        raise pytest_like.Skipped
    for _, text in result.failures:
        raise AssertionError(text.strip().splitlines()[-1])
    for _, text in result.errors:
        raise RuntimeError(text.strip().splitlines()[-1])
    if not result.wasSuccessful() or not result.testsRun:
        raise AssertionError("the test was not run, or passed where it should not")
