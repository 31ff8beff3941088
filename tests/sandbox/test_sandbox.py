"""What a judgement says, and what it is not fooled by."""

import pytest

from groupwise.sandbox import Sandbox

ADD = "def add(a, b):\n    return a + b\n"


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def box(request):
    with Sandbox(workers=2, tier=request.param, cpu_s=1, wall_s=5) as box:
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
