"""Programs by their tests, in a real sandbox."""

import pytest

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.harness import HarnessConfig, make_judge
from groupwise.rewards.load import load_reward
from groupwise.rewards.stdio import Stdio
from groupwise.rewards.unit_tests import UnitTests
from groupwise.rewards.working import check_reward

ADD = "```python\ndef add(a, b):\n    return a + b\n```"
HALF = "```python\ndef add(a, b):\n    return a + b if a < 3 else 0\n```"
CALLS = {"prompt": "Add.", "entry": "add", "inputs": [[1, 2], [3, 4]], "expected": [3, 7]}
HUMAN_EVAL = {
    "prompt": 'def add(a, b):\n    """Add."""\n',
    "entry_point": "add",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(3, 4) == 7\n",
    "canonical_solution": "    return a + b\n",
}
MBPP = {"text": "Add.", "test_list": ["assert add(1, 2) == 3", "assert sorted([add(3, 4)]) == [7]"], "code": ADD}
PYTEST = {
    "prompt": "Add.",
    "entry": "add",
    "tests": "def test_small():\n    assert add(1, 2) == 3\n\ndef test_large():\n    assert add(3, 4) == 7\n",
}
FORMS = pytest.mark.parametrize("row", [CALLS, HUMAN_EVAL, MBPP, PYTEST], ids=["calls", "humaneval", "mbpp", "pytest"])


@pytest.fixture(scope="module")
def quick():
    return UnitTests(cpu_s=1.0)


@FORMS
def test_a_right_program(quick, row):
    assert quick(row, f"Here it is:\n{ADD}") == 1


@FORMS
def test_half_of_the_tests(quick, row):
    assert quick(row, HALF) == 0.5
    assert UnitTests(cpu_s=1.0, score="all")(row, HALF) == 0


@FORMS
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot.",
        "```python\ndef add(a, b):\n    return None\n```",
        "```python\ndef add(a, b) return\n```",
        "```python\nimport os\nos._exit(0)\n```",
        "```python\nraise SystemExit(0)\n```",
        "```python\nclass Yes(int):\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        "def add(a, b):\n    return Yes(99)\n```",
        "```python\ndef add(a, b):\n    while True: pass\n```",
    ],
    ids=["empty", "refusal", "none", "syntax", "exit", "system-exit", "liar", "loop"],
)
def test_wrong_programs(quick, row, text):
    assert quick(row, text) == 0


@pytest.mark.parametrize(
    ("expected", "returned", "score"),
    [
        ([1, 2], "(1, 2)", 1),
        ([[1, [2]]], "[(1, (2,))]", 1),
        ({"1": 2, "null": 0}, "{1: 2, None: 0}", 1),
        ({"a": [1, 2]}, "{'a': (1, 2)}", 1),
        ([1, 2], "{1, 2}", 0),
        ("(1, 2)", "(1, 2)", 0),
        (True, "1", 0),
        ({"1": 2}, "{1: 3}", 0),
    ],
)
def test_answers_are_compared_as_the_rows_file_keeps_them(quick, expected, returned, score):
    row = {"entry": "f", "inputs": [[]], "expected": [expected]}
    assert quick(row, f"def f():\n    return {returned}\n") == score


def test_an_assert_may_call_other_things_first(quick):
    row = {"test_list": ["assert math.isclose(sorted([area(2)])[0], 4.0)"], "test_setup_code": "import math"}
    assert quick(row, "def area(x):\n    return x * x * 1.0\n") == 1


def test_a_whole_function_without_the_imports_of_its_prompt(quick):
    row = {**HUMAN_EVAL, "prompt": 'from typing import List\n\n\ndef add(a: List, b: List):\n    """Add."""\n'}
    assert quick(row, "def add(a: List, b: List):\n    return a + b\n") == 1


def test_a_text_that_continues_its_prompt(quick):
    assert quick(HUMAN_EVAL, "    return a + b\n\nprint(add(1, 2))") == 1


@FORMS
def test_the_solution_that_a_row_brings(quick, row):
    gold = quick.gold(row)
    assert gold is None or quick(row, gold) == 1


def test_verdicts_are_counted():
    reward = UnitTests(cpu_s=1.0)
    for text in (ADD, HALF, "```python\ndef add(a, b):\n    while True: pass\n```"):
        reward(CALLS, text)
    assert reward.usage == {"pass": 1, "fail": 1, "timeout": 1}


def test_as_a_run_uses_it():
    judge = make_judge("unit_tests", {"cpu_s": 1.0})
    try:
        found = judge.submit(CALLS, [ADD, HALF, "no"]).result()
        measured = judge.measured()
    finally:
        judge.close()
    assert [judged.score for judged in found] == [1, 0.5, 0]
    assert measured["reward/total_pass"] == 1


def test_the_task_of_functions_and_its_solutions():
    from groupwise.data.tasks import task_rows

    rows = task_rows("functions", size=24, seed=0, level=3)
    report = check_reward("unit_tests", {"score": "all"}, rows, config=HarnessConfig())
    assert (report.gold, report.missed) == (24, 0)
    assert report.fooled <= 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "?"}, "found no tests; the row has: prompt"),
        ({**CALLS, "entry": "not a name"}, "it must name the function"),
        ({**CALLS, "inputs": [1, 2]}, "a list with a list of arguments"),
        ({**CALLS, "expected": [3]}, "there must be one for each"),
        ({**CALLS, "inputs": [], "expected": []}, "at least one"),
        ({"test_list": ["assert 1 == 1"]}, "found no call"),
    ],
)
def test_rows_without_tests(quick, row, said):
    with pytest.raises(RewardError, match=said):
        quick(row, ADD)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"score": "some"}, "unit_tests.score = 'some', must be `rate` or `all`"),
        ({"cpu_s": 0}, "unit_tests.cpu_s = 0, must be above 0"),
        ({"workers": 0}, "must be above 0"),
        ({"tier": "none"}, "must be `namespaces`, `landlock` or null"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(ConfigError, match=said):
        UnitTests(**settings)


LINES = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
READS = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"


def test_stdio():
    reward = Stdio(cpu_s=1.0)
    assert reward(LINES, READS) == 1
    assert reward({"input_output": LINES}, READS) == 1
    assert reward({"inputs": "1 2", "outputs": "3"}, READS) == 1
    assert reward(LINES, "```python\nprint(3)\n```") == 0.5
    assert reward(LINES, "") == 0
    assert reward({"inputs": ["", ""], "outputs": ["1\n2\n", "1\n"]}, "```python\nprint(1)\n```") == 0.5  # no prefix


def test_stdio_rows_without_inputs():
    with pytest.raises(RewardError, match="lists of as many texts"):
        Stdio()({"inputs": ["1"], "outputs": []}, READS)


def test_their_names():
    assert isinstance(load_reward("unit_tests"), UnitTests)
    assert isinstance(load_reward("stdio", score="all"), Stdio)
