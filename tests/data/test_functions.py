"""The task of short functions: its tests are right, its solutions pass them, its sides share no problem."""

import json
from collections import Counter

import pytest

from groupwise.data.functions import TESTS, function_row, problems
from groupwise.data.tasks import task_rows
from groupwise.errors import ConfigError


def run(code):
    space = {}
    exec(code, space)  # our own solutions
    return space["f"]


def test_every_solution_passes_its_own_tests():
    for problem in problems(3):
        row = function_row(problem, seed=1)
        f = run(row["solution"])
        assert [f(*arguments) for arguments in row["inputs"]] == row["expected"], row["solution"]


def test_right_values_by_hand():
    rows = {row["solution"]: row for p in problems(3) if (row := function_row(p, seed=0))}
    row = rows["def f(xs):\n    return sum(x * x for x in xs if x % 2 == 0)"]
    assert "returns the sum of the squares of the even numbers." in row["prompt"]
    for (xs,), want in zip(row["inputs"], row["expected"], strict=True):
        total = 0
        for x in xs:
            if x // 2 * 2 == x:
                total += x * x
        assert want == total


@pytest.mark.parametrize(("level", "count"), [(1, 14), (2, 222), (3, 974)])
def test_how_many_problems_there_are(level, count):
    found = list(problems(level))
    assert len({*found}) == len(found) == count


def test_a_row_shows_other_calls_than_it_is_tested_with():
    row = function_row(("numbers", 1, 1, 1), seed=0)
    assert len(row["inputs"]) == len(row["expected"]) == TESTS
    assert row["inputs"][-1] == [[]]
    assert row["prompt"].count("\nf(") == 2
    assert not any(f"f({xs!r}) ==" in row["prompt"] for (xs,) in row["inputs"])


def test_the_tests_tell_most_problems_apart():
    """A wrong function should not pass by luck: few of another problem's solutions do."""
    rows = [function_row(problem, seed=0) for problem in problems(2) if problem[0] == "numbers"]
    solutions = [run(row["solution"]) for row in rows]
    passed = Counter()
    for i, row in enumerate(rows):
        for j, f in enumerate(solutions):
            passed[i == j] += [f(*arguments) for arguments in row["inputs"]] == row["expected"]
    assert passed[True] == len(rows)
    assert passed[False] / (len(rows) * (len(rows) - 1)) < 0.01


def test_sides_share_no_problem_and_rows_are_json():
    train = task_rows("functions", size=400, seed=0)
    heldout = task_rows("functions", size=40, seed=1, split="heldout")
    assert json.loads(json.dumps(train)) == train
    assert not {row["solution"] for row in train} & {row["solution"] for row in heldout}
    assert len({row["solution"] for row in heldout}) == 40
    assert task_rows("functions", size=100, seed=0) == train[:100]
    repeated = [row for row in train if row["solution"] == train[0]["solution"]]
    assert len({json.dumps(row["inputs"]) for row in repeated}) == len(repeated) > 1


def test_demonstrations():
    fenced, bare = (
        task_rows("functions", size=1, seed=0, kind="demonstration", fenced=fenced)[0] for fenced in (True, False)
    )
    assert fenced["completion"] == f"```python\n{bare['completion']}\n```"
    assert "completion" not in task_rows("functions", size=1, seed=0)[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": 4}, "level = 4, must be 1, 2 or 3"),
        ({"levl": 1}, "Did you mean `level`"),
        ({"level": 1, "split": "heldout", "size": 20}, "has only"),
        ({"kind": "pair"}, "it knows no wrong answers"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(ConfigError, match=said):
        task_rows("functions", **{"size": 5, "seed": 0, **settings})
