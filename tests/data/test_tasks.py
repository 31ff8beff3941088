import json
import re

import pytest

from groupwise.data.tasks import is_task, task_rows
from groupwise.data.written_sums import written_sum
from groupwise.errors import ConfigError


def operands(row):
    return tuple(int(n) for n in re.findall(r"\d+", row["prompt"]))


def problems(rows):
    return {tuple(sorted(operands(row))) for row in rows}


def test_sums_are_right_and_in_range():
    for digits, low, high in ((1, 0, 9), (3, 100, 999), ((1, 2), 0, 99), ([2, 4], 10, 9999)):
        for terms in (2, 3):
            rows = task_rows("sums", size=200, seed=5, digits=digits, terms=terms)
            for row in rows:
                assert row["answer"] == str(sum(operands(row)))
                assert len(operands(row)) == terms
                assert all(low <= n <= high for n in operands(row))
    lengths = {len(str(n)) for row in rows for n in operands(row)}
    assert lengths == {2, 3, 4}


def test_given_responses_are_right_or_have_a_slip_in_one_column():
    for style in ("bare", "worked", "chat"):
        rows = task_rows("sums", size=200, seed=0, kind="pair", style=style, digits=(1, 3), terms=3)
        for row in rows:
            right, wrong = (int(row[side].split(":")[-1]) for side in ("chosen", "rejected"))
            assert right == sum(operands(row)) == int(row["answer"])
            assert 1 <= int(str(abs(wrong - right)).rstrip("0")) <= 9
            assert (":" in row["chosen"]) == (":" in row["rejected"]) == (style == "worked")
        errors = {int(row["rejected"].split(":")[-1]) - int(row["answer"]) for row in rows}
        assert {1, -1, 9, 10, -10, 100} < errors
        given = task_rows("sums", size=200, seed=0, kind="demonstration", style=style, digits=(1, 3), terms=3)
        assert [row["completion"] for row in given] == [row["chosen"] for row in rows]


def test_a_sum_written_out():
    assert written_sum([58, 67], worked=True) == "8+7=15,5+6+1=12:125"
    assert written_sum([0, 0], worked=True) == "0+0=0:0"
    assert written_sum([0, 0], worked=True, slip=(0, -1)) == "0+0=1:1"
    assert written_sum([58, 67], worked=True, slip=(0, 1)) == "8+7=16,5+6+1=12:126"
    assert written_sum([55, 65], worked=True, slip=(0, -1)) == "5+5=9,5+6=11:119"  # the carry is lost


def test_given_responses_of_other_tasks():
    pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    (row,) = task_rows("reasoning_gym.chain_sum", size=1, seed=0, kind="demonstration")
    assert row["completion"] == row["answer"]
    with pytest.raises(ConfigError, match="it knows no wrong answers"):
        task_rows("reasoning_gym.chain_sum", size=1, seed=0, kind="pair")


def test_styles():
    (bare,), (chat,) = (task_rows("sums", size=1, seed=0, style=style) for style in ("bare", "chat"))
    a, b = operands(bare)
    assert bare == {"prompt": f"{a}+{b}=", "answer": str(a + b)}
    assert chat == {"prompt": f"What is {a} + {b}? Answer with the number only.", "answer": str(a + b)}


@pytest.mark.parametrize("task", ["sums", "reasoning_gym.chain_sum"])
@pytest.mark.parametrize("split", ["train", "heldout"])
def test_rows_depend_on_the_seed_and_their_place(task, split):
    if task != "sums":
        pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    rows = task_rows(task, size=60, seed=1, split=split)
    assert rows == json.loads(json.dumps(task_rows(task, size=60, seed=1, split=split)))
    shorter = task_rows(task, size=20, seed=1, split=split)
    assert [r["prompt"] for r in shorter] == [r["prompt"] for r in rows[:20]]
    others = {r["prompt"] for r in task_rows(task, size=60, seed=2, split=split)}
    assert len(others & {r["prompt"] for r in rows}) < 20


def test_train_and_heldout_never_share_a_problem_in_any_order():
    train = set().union(*(problems(task_rows("sums", size=2000, seed=seed, digits=1)) for seed in range(3)))
    heldout = task_rows("sums", size=5, seed=9, split="heldout", digits=1)
    everything = {(a, b) for a in range(10) for b in range(a, 10)}
    assert not train & problems(heldout)
    assert len(problems(heldout)) == 5
    with pytest.raises(ConfigError, match="distinct heldout problems") as caught:
        task_rows("sums", size=50, seed=0, split="heldout", digits=1)
    available = int(re.search(r"only (\d+) distinct", str(caught.value)).group(1))
    all_heldout = problems(task_rows("sums", size=available, seed=0, split="heldout", digits=1))
    assert all_heldout == everything - train
    assert len(all_heldout) == available


def test_one_problem_in_five_is_held_out():
    with pytest.raises(ConfigError) as caught:
        task_rows("sums", size=10_000, seed=0, split="heldout", digits=2)
    available = int(re.search(r"only (\d+) distinct", str(caught.value)).group(1))
    assert 0.17 < available / (90 * 91 / 2) < 0.23


def test_reasoning_gym_splits_and_settings():
    pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    settings = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    train = task_rows("reasoning_gym.chain_sum", size=500, seed=0, **settings)
    heldout = task_rows("reasoning_gym.chain_sum", size=20, seed=1, split="heldout", **settings)
    assert all(row["metadata"]["num_terms"] == 2 for row in train)
    prompts = {row["prompt"] for row in heldout}
    assert len(prompts) == 20
    assert not prompts & {row["prompt"] for row in train}
    with pytest.raises(ConfigError, match="distinct heldout problems"):
        task_rows("reasoning_gym.chain_sum", size=200, seed=1, split="heldout", **settings)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("sum", {}, "Did you mean `sums`"),
        ("sums", {"size": 0}, "1 or more"),
        ("sums", {"split": "test"}, "`train` or `heldout`"),
        ("sums", {"digit": 1}, "Did you mean `digits`"),
        ("sums", {"digits": (2, 1)}, "least and most"),
        ("sums", {"digits": 0}, "from 1 to 18"),
        ("sums", {"digits": (1, 2, 3)}, "least and most"),
        ("sums", {"terms": 0}, "from 1 to 100"),
        ("sums", {"style": "prose"}, "`bare`, `chat` or `worked`"),
        ("reasoning_gym.chain_sums", {}, "Did you mean `chain_sum`"),
        ("sums", {"digits": None}, "digits = None, must be a whole number"),
        ("sums", {"digits": 1.5}, "digits = 1.5, must be a whole number"),
        ("sums", {"digits": True}, "digits = True, must be a whole number"),
        ("sums", {"digits": [1, "2"]}, "must be a whole number"),
        ("sums", {"terms": "x"}, "terms = 'x', must be a whole number"),
        ("reasoning_gym.chain_sum", {"min_term": 2}, "Did you mean `min_terms`"),
        ("reasoning_gym.chain_sum", {"min_terms": 3, "max_terms": 2}, "max_terms must be >= min_terms"),
        ("reasoning_gym.game_of_life_halting", {}, "1.0 to a meaningless one"),
        ("reasoning_gym.boxnet", {}, "0.0 to its own answer"),
        ("reasoning_gym.prime_factorization", {}, "its verifier raised"),
        ("reasoning_gym.rearc", {}, "cannot be used"),
    ],
)
def test_what_is_refused(name, settings, said):
    if name.startswith("reasoning_gym"):
        pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    with pytest.raises(ConfigError) as caught:
        task_rows(name, **{"size": 5, "seed": 0, **settings})
    assert said in str(caught.value)


def test_names_of_tasks():
    assert is_task("sums")
    assert is_task("reasoning_gym.countdown")
    assert not is_task("sums.jsonl")
