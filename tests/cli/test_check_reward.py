import json

import pytest

from groupwise.cli.main import main

REWARD = """
def right(row, text):
    return text == row["answer"]

def anything(row, text):
    return 1.0
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REWARD)
    rows = [{"prompt": f"{n} + 1 =", "answer": str(n + 1)} for n in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_reward_that_works(capsys):
    assert main(["check-reward", "exact_answer", "--data", "sums", "--size", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["works"], found["gold"], found["false_negatives"], found["false_positives"]) == (True, 20, 0, 0)
    assert found["seconds"] > 0


def test_your_own_with_the_column_that_is_right(capsys):
    assert main(["check-reward", "./mine.py:right", "--data", "sums.jsonl", "--gold", "answer"]) == 0
    assert "right answers" in capsys.readouterr().out


def test_a_reward_that_takes_everything_is_told_with_examples(capsys):
    assert main(["check-reward", "./mine.py:anything", "--data", "sums.jsonl", "--gold", "answer"]) == 1
    out = capsys.readouterr().out
    assert "5 (100 %)" in out or "5 (100.0 %)" in out
    assert "of another row, and scored 1: '2'" in out
    assert "does not tell right answers from wrong ones" in out


def test_nothing_says_what_is_right(capsys):
    assert main(["check-reward", "./mine.py:right", "--data", "sums.jsonl"]) == 2
    assert "give --gold COLUMN" in capsys.readouterr().err
