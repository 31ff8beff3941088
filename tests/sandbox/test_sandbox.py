"""What a judgement says, and what it is not fooled by."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from groupwise.errors import ConfigError
from groupwise.sandbox import Sandbox, checks
from groupwise.sandbox.pool import CANDIDATE

ADD = "def add(a, b):\n    return a + b\n"


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def box(request):
    with Sandbox(workers=2, tier=request.param, cpu_s=0.4, wall_s=5) as box:
        yield box


def test_a_right_program_passes(box):
    verdict = box.run_calls(ADD, entry="add", inputs=[[1, 2], {"a": 3, "b": 4}], expected=[3, 7])
    assert (verdict.verdict, verdict.passed, verdict.total) == ("pass", 2, 2)
    assert (verdict.tier, verdict.integrity) == (box.tier, "isolated")
    assert verdict.scored
    assert verdict.rate == 1.0
    assert 0 < verdict.cpu_s < 1
    assert verdict.wall_s > 0


def test_each_call_counts_for_itself(box):
    source = "def f(x):\n    if x == 2: raise KeyError('two')\n    return x if x < 3 else 0\n"
    verdict = box.run_calls(source, entry="f", inputs=[[1], [2], [3]], expected=[1, 2, 3])
    assert (verdict.verdict, verdict.passed, verdict.total) == ("error", 1, 3)
    assert [case.verdict for case in verdict.cases] == ["pass", "error", "fail"]
    assert "KeyError" in verdict.message


def test_a_script_is_judged_by_all_it_prints(box):
    source = "a, b = map(int, input().split())\nprint(a + b)\n"
    verdict = box.run_stdio(source, stdin="3 4\n", expected="7\n")
    assert (verdict.verdict, verdict.stdout) == ("pass", "7\n")
    verdict = box.run_stdio(source, stdin=["3 4", "1 1"], expected=["7", "3"])
    assert (verdict.verdict, verdict.passed, verdict.total) == ("fail", 1, 2)


# --- verdicts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def f(x): return x + 1", "fail"),
        ("def f(x): raise ValueError", "error"),
        ("def g(x): return x", "error"),
        ("def f(x) return x", "error"),
        ("def f(x):\n    while True: pass", "timeout"),
        ("def f(x): return bytearray(1 << 40)", "memory"),
        ("def f(x):\n    while True: print('x' * 1000)", "output_limit"),
        ("def f(x): return 'x' * (20 << 20)", "output_limit"),
        ("import ctypes\ndef f(x): ctypes.string_at(0)", "crash"),
        ("import os\ndef f(x): os._exit(0)", "exited_early"),
        ("raise SystemExit", "exited_early"),
        ("import os\ndef f(x): os.write(4, b'\\x01\\0\\0\\0x')\n", "protocol_error"),
        ("def f(x): return lambda: x", "fail"),
    ],
)
def test_verdicts_of_calls(box, source, word):
    verdict = box.run_calls(source, entry="f", inputs=[[1]], expected=[1])
    assert (verdict.verdict, verdict.passed, verdict.total) == (word, 0, 1)
    assert verdict.message
    assert verdict.scored


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("print(7)", "pass"),
        ("print(7, end='')", "pass"),
        ("print('7  \\n\\n')", "pass"),
        ("print(7)\nimport sys\nsys.exit(0)", "pass"),
        ("import threading\nthreading.Thread(target=print, args=(7,)).start()", "pass"),
        ("import atexit\natexit.register(print, 7)", "pass"),
        ("", "fail"),
        ("print(77)", "fail"),
        ("print(' 7')", "fail"),
        ("print(7)\nprint(7)", "fail"),
        ("print(7)\nraise ValueError", "error"),
        ("print(7)\nimport sys\nsys.exit(1)", "error"),
        ("print(7)\nx = bytearray(1 << 40)", "memory"),
        ("import os\nos.kill(os.getpid(), 11)\nimport ctypes\nctypes.string_at(0)", "crash"),
    ],
)
def test_verdicts_of_scripts(box, source, word):
    assert box.run_stdio(source, stdin="", expected="7\n").verdict == word


def test_after_a_timeout_the_rest_is_not_run(box):
    source = "n = int(input())\nwhile n == 2: pass\nprint(n)"
    verdict = box.run_stdio(source, stdin=["1", "2", "3"], expected=["1", "2", "3"])
    assert (verdict.verdict, verdict.passed, verdict.total) == ("timeout", 1, 3)
    assert verdict.cases[2].message == "not run after a timeout"


def test_a_timeout_beside_others_is_tried_again_alone(box, monkeypatch):
    """Two at once; each one's second attempt has the machine for itself."""
    alone = []
    take = box._pool._take
    monkeypatch.setattr(box._pool, "_take", lambda one: (alone.append(one), take(one))[1])
    source = "def f():\n    while True: pass"
    with ThreadPoolExecutor(2) as callers:
        jobs = [callers.submit(box.run_calls, source, entry="f", inputs=[[]], expected=[0]) for _ in range(2)]
        assert [job.result().verdict for job in jobs] == ["timeout"] * 2
    assert sorted(alone) == [False, False, True, True]


def test_many_callers_share_two_workers(box):
    def judge(number):
        return box.run_calls(ADD, entry="add", inputs=[[number, 1]], expected=[number + 1])

    with ThreadPoolExecutor(16) as callers:
        assert all(verdict.verdict == "pass" for verdict in callers.map(judge, range(100)))


def test_runs_know_nothing_of_each_other(box):
    box.run_calls(
        "import math, builtins\nmath.pi = 3\nbuiltins.left = 1\ndef f(): pass", entry="f", inputs=[[]], expected=[None]
    )
    source = "import math, builtins\ndef f(): return [math.pi > 3.1, hasattr(builtins, 'left')]"
    for _ in range(4):
        assert box.run_calls(source, entry="f", inputs=[[]], expected=[[True, False]]).verdict == "pass"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda box: box.run_calls(ADD, entry="add", inputs=[[1, 2]], expected=[]), "1 inputs and 0 expected"),
        (lambda box: box.run_calls(ADD, entry="add", inputs=[], expected=[]), "one at least"),
        (lambda box: box.run_calls(ADD, entry="add", inputs=[[1, object()]], expected=[3]), "object is not plain data"),
        (lambda box: box.run_stdio("", stdin=["", ""], expected=[""]), "2 stdin and 1 expected"),
        (lambda box: box.run_tests(ADD, entry="add", tests="def check(:"), "cannot be compiled"),
        (lambda box: box.run_tests(ADD, entry="add", tests="assert add", prelude="1 / 0"), "prelude cannot be run"),
    ],
)
def test_the_callers_mistakes_are_named(box, call, says):
    with pytest.raises(ConfigError, match=says):
        call(box)


# --- tests against a program ------------------------------------------------------------------------------------


def outcome(box, source, tests, **more):
    verdict = box.run_tests(source, tests=tests, **{"entry": "f", **more})
    return verdict.verdict, verdict.passed, verdict.total


@pytest.mark.parametrize(
    ("tests", "passed", "total"),
    [
        (
            "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n    assert True",
            2,
            2,
        ),
        ("assert f(1) == 2\nassert f(2) == 4\nassert f(3) == 4", 2, 3),
        ("def check(candidate):\n    for i in range(5):\n        assert candidate(i) == max(i + 1, 3)", 3, 5),
        ("def check(c):\n    assert c('x') == 1\n    assert c(1) == 2", 1, 2),
        ("def check(c):\n    x = c('x')\n    assert x == 1\n    assert c(1) == 2", 0, 2),
        ("def check(c):\n    assert c(1) == 2\ncheck(f)", 1, 1),
        (
            "def test_a(): assert f(1) == 2\ndef test_b(): assert f(1) == 1\n"
            "def test_c(candidate): assert candidate(2)",
            2,
            3,
        ),
        ("class TestF:\n    def test_a(self): assert f(1) == 2\n    def helper(self): assert 0", 1, 1),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 2)\n"
            "    def test_b(self): self.assertEqual(f(1), 1)\n    @unittest.skip('no')\n    def test_c(self): pass",
            1,
            2,
        ),
        (
            "from pytest import mark\n@mark.parametrize('x, y', [(1, 2), (2, 3), (3, 0)])\n"
            "def test_a(x, y): assert f(x) == y",
            2,
            3,
        ),
        ("import pytest\ndef test_a():\n    with pytest.raises(TypeError): f('x')", 1, 1),
        ("import pytest\ndef test_a():\n    with pytest.raises(KeyError): f('x')", 0, 1),
        (
            "import pytest\n@pytest.fixture\ndef one(): return 1\ndef test_a(one): assert f(one) == pytest.approx(2)",
            1,
            1,
        ),
        ("from solution import f as g\nassert g(1) == 2", 1, 1),
        ("try:\n    f('x')\n    assert False\nexcept TypeError:\n    pass\nassert f(0) == 1", 1, 1),
        ("try:\n    assert f(1) == 2\nexcept KeyError:\n    pass", 1, 1),
    ],
)
def test_what_is_counted(box, tests, passed, total):
    word, *counts = outcome(box, "def f(x): return x + 1", tests)
    assert counts == [passed, total]
    assert (word == "pass") == (passed == total)


@pytest.mark.parametrize(
    "tests",
    [
        "",
        "x = 1",
        "assert True",
        "def check(candidate): pass",
        "def check(candidate):\n    for x in candidate(1): assert x",
        "def test_nothing(): pass",
        "import pytest\ndef test_a(): pytest.skip('no')",
        "import pytest\n@pytest.mark.skip\ndef test_a(): assert f(1)",
        "def unused(): assert f(1)",
    ],
)
def test_tests_that_assert_nothing_pass_nobody(box, tests):
    verdict = box.run_tests("def f(x): return []", entry="f", tests=tests)
    assert (verdict.verdict, verdict.passed) == ("fail", 0)
    assert "no assertion" in verdict.message


def test_arguments_are_changed_in_place(box):
    source = "def f(a, b, c):\n    a.sort()\n    a.append([9])\n    b['k'] = a[0]\n    c.add(1)\n    return a"
    tests = "a, b, c = [3, 1], {}, set()\n"
    tests += "r = f(a, b, c)\nassert a == r == [1, 3, [9]]\nassert b == {'k': 1}\nassert c == {1}"
    assert outcome(box, source, tests) == ("pass", 3, 3)


def test_builtin_exceptions_arrive_by_name(box):
    source = "class Mine(LookupError): pass\ndef f(kind):\n    raise {'k': KeyError, 'm': Mine}[kind]('text')"
    tests = (
        "def check(c):\n"
        "    for kind, wanted in (('k', KeyError), ('m', LookupError)):\n"
        "        try:\n            c(kind)\n        except wanted as error:\n            seen = type(error)\n"
        "        assert issubclass(seen, wanted) and seen is not Exception"
    )
    assert outcome(box, source, tests) == ("pass", 2, 2)


def test_helpers_come_from_the_prelude_not_from_the_program(box):
    source = "def helper(x): return 0\ndef f(x): return 5"
    tests = "def check(candidate): assert helper(candidate(1)) == 0"
    assert outcome(box, source, tests, prelude="def helper(x): return x - 1")[0] == "fail"
    assert outcome(box, source, tests)[0] == "error"


def test_without_an_entry_all_free_names_are_the_programs(box):
    source = "def f(x): return x + 1\ndef g(x): return 2 * x"
    assert outcome(box, source, "assert f(g(1)) == 3\nassert g(f(1)) == 4", entry=None) == ("pass", 2, 2)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("class T:\n    def __eq__(s, o): return True\ndef f(x): return T()", "unsupported_value"),
        ("class I(int):\n    def __eq__(s, o): return True\ndef f(x): return I(5)", "fail"),
        ("def f(x): yield 2", "unsupported_value"),
        ("import os\ndef f(x): os._exit(0)", "exited_early"),
        ("import sys\ndef f(x): sys.exit(0)", "exited_early"),
        ("raise SystemExit(0)", "exited_early"),
        ("def f(x):\n    while True: pass", "timeout"),
        ("def f(x): return [0] * (1 << 40)", "memory"),
        ("def f(x): return 'x' * (20 << 20)", "output_limit"),
        ("def f(x):\n    while True: print('x' * 1000)", "output_limit"),
        ("import ctypes\ndef f(x): ctypes.string_at(0)", "crash"),
        ("import os\ndef f(x):\n    os.write(4, b'\\x05\\0\\0\\0[1,2]')\n    return 2", "protocol_error"),
        ("import unittest\ndef f(x): raise unittest.SkipTest('skip')", "error"),
        ("def f(x): raise AssertionError", "fail"),
        ("def f(x) return", "error"),
        ("def g(x): return 2", "error"),
    ],
)
def test_verdicts_of_tests(box, source, word):
    verdict = box.run_tests(source, entry="f", tests="def check(candidate): assert candidate(1) == 2")
    assert (verdict.verdict, verdict.passed) == (word, 0)
    assert verdict.scored


def test_tests_that_catch_everything_hide_no_end(box):
    tests = "def check(c):\n    try:\n        c(1)\n    except:\n        pass\n    assert 1 + 1 == 2"
    assert outcome(box, "import os\ndef f(x): os._exit(0)", tests)[0] == "exited_early"


def test_tests_that_end_themselves_pass_nobody(box):
    assert outcome(box, ADD, "import os\nassert add(1, 2) == 3\nos._exit(0)", entry="add")[0] == "error"
    assert outcome(box, ADD, "import sys\nassert add(1, 2) == 3\nsys.exit(0)", entry="add")[0] == "error"
    assert outcome(box, ADD, "assert add(1, 2) == 3\nwhile True: pass", entry="add")[0] == "timeout"


def test_compiled_tests_are_the_same_the_second_time(box):
    tests = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3"
    for source, wanted in (("def f(x): return x + 1", ("pass", 2, 2)), ("def f(x): return 2", ("fail", 1, 2))):
        assert [outcome(box, source, tests) for _ in range(3)] == [wanted] * 3


def test_what_the_program_prints_is_shown(box):
    source = "import sys\ndef f(x):\n    print('seen', x)\n    print('why', file=sys.stderr)\n    return x"
    verdict = box.run_tests(source, entry="f", tests="print('not this')\nassert f(1) == 1")
    assert (verdict.stdout, verdict.stderr) == ("seen 1\n", "why\n")


def test_what_is_printed_late_is_shown(box):
    source = (
        "import io, sys, time\n"
        "class Late(io.StringIO):\n"
        "    def flush(self):\n"
        "        time.sleep(0.2)\n"
        "        sys.__stdout__.write(self.getvalue())\n"
        "        sys.__stdout__.flush()\n"
        "sys.stdout = Late()\n"
        "def f(x):\n"
        "    print('seen', x)\n"
        "    return x"
    )
    assert box.run_tests(source, entry="f", tests="assert f(1) == 1").stdout == "seen 1\n"


def test_bad_tests_are_named_though_the_program_has_not_started(box):
    task = checks.Task(source=ADD, tests="def check(:", entry="add")
    with box._pool.turn() as worker:
        slow = worker.zygote(CANDIDATE).process.pid
        os.kill(slow, signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (slow, signal.SIGCONT)).start()
        with pytest.raises(ConfigError, match="cannot be compiled"):
            checks.tests(worker, box.limits, task, checks.Compiled())


def test_packages_that_are_allowed():
    pytest.importorskip("numpy")
    source = "import numpy as np\ndef f(x): return np.array(x) * 2"
    with Sandbox(workers=1, packages=("numpy",), cpu_s=5) as box:
        assert box.run_calls(source, entry="f", inputs=[[[1, 2]]], expected=[[2, 4]]).verdict == "pass"
        tests = "import numpy as np\nassert np.allclose(f([1.0]), [2.0])\nassert f([1]).tolist() == [2]"
        assert outcome(box, source, tests) == ("pass", 2, 2)
        hidden = "import pytest\ndef f(x): return x"
        assert box.run_calls(hidden, entry="f", inputs=[[1]], expected=[1]).verdict == "error"
