"""The verifiers of reasoning-gym, and their faults."""

import json

import pytest

from groupwise.data.tasks import task_rows
from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.reasoning_gym import FAULTY, ReasoningGym

pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")

RUN_THE_ANSWER = (
    "binary_matrix",
    "countdown",
    "intermediate_integration",
    "n_queens",
    "polynomial_multiplication",
    "simple_integration",
    "spiral_matrix",
    "string_insertion",
)


def rows(task, size=5):
    return json.loads(json.dumps(task_rows(f"reasoning_gym.{task}", size=size, seed=3)))


def judge(row, text, **settings):
    return ReasoningGym(**settings).judge(row, text)


@pytest.mark.parametrize("task", ["chain_sum", "basic_arithmetic", "spell_backward", "complex_arithmetic"])
def test_own_answers_are_accepted_after_a_trip_through_json(task):
    for row in rows(task):
        answer = row["answer"]
        assert judge(row, f" {answer}\n") == 1.0
        assert judge(row, f"so <answer>7</answer> no <answer>{answer}</answer>.", extract="tag") == 1.0
        assert judge(row, answer, extract="tag") == 0.0
        assert judge(row, f"it is\n\n{answer}\n\n", extract="last_line") == 1.0
        assert judge(row, "xyzzy") < 0.5
        assert judge(row, "") == 0.0
        for extract in ("whole", "last_line", "tag"):
            assert judge(row, ReasoningGym(extract=extract).gold(row), extract=extract) == 1.0


def test_called_by_hand_it_judges_in_a_process_of_its_own():
    (row,) = rows("chain_sum", 1)
    assert [ReasoningGym()(row, text) for text in (row["answer"], "xyzzy")] == [1.0, pytest.approx(0, abs=0.1)]
    with pytest.raises(RewardError, match="Did you mean `chain_sum`"):
        ReasoningGym()({"answer": "1", "metadata": {"source_dataset": "chain_sums"}}, "1")


def test_tasks_whose_verifier_cannot_be_trained_on_are_refused():
    named = {"game_of_life_halting", "prime_factorization", "boxnet", "graph_color", "propositional_logic"}
    assert named | {"rubiks_cube", "rush_hour", "coin_flip", "puzzle24"} <= set(FAULTY)
    for task, fault in FAULTY.items():
        with pytest.raises(RewardError, match=fault):
            judge({"answer": "1", "metadata": {"source_dataset": task}}, "1")


@pytest.mark.parametrize(("task", "junk"), [("coin_flip", "0"), ("puzzle24", "6*4*1*1"), ("game_of_life_halting", "?")])
def test_the_package_still_has_the_fault(task, junk):
    """When this fails, the task may be let in again."""
    from reasoning_gym.factory import DATASETS

    kind, config = DATASETS[task]
    entries = list(kind(config=config(seed=1, size=20)))
    score = kind(config=config(seed=1, size=1)).score_answer
    given = [entry for entry in entries if sorted(entry["metadata"].get("numbers", [])) != [1, 1, 4, 6]]
    assert max(score(junk, entry) for entry in given) == 1.0


@pytest.mark.parametrize("task", RUN_THE_ANSWER)
def test_no_verifier_runs_the_answer_as_code(task, tmp_path):
    mark = tmp_path / "ran"
    for row in rows(task, 3):
        assert judge(row, row["answer"]) == 1.0
        for text in (
            f"__import__('pathlib').Path({str(mark)!r}).touch()",
            f"[__import__('pathlib').Path({str(mark)!r}).touch()]",
            f"[open({str(mark)!r}, 'w')]",
            f"(lambda: open({str(mark)!r}, 'w'))()",
            f"S('open({str(mark)!r}, 1)')",
            "oracle_answer",
            "entry['answer']",
            "valid_solutions",
        ):
            assert judge(row, text) == 0.0
        assert not mark.exists()


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        ("countdown", "2**9**9**9", 0.0),
        ("countdown", "1 + 1", 0.05),  # the verifier's own mark for an attempt
        ("simple_integration", "x.free_symbols", 0.0),
        ("simple_integration", "Integral(x)", 0.0),
        ("simple_integration", "9**99999", 0.0),
        ("simple_integration", "9**9**9**9", 0.0),
        ("polynomial_multiplication", "((9**99)**99)**99", 0.0),
        ("intermediate_integration", "Integral(x**2, x)", 0.0),
        ("string_insertion", "['A', 'B']", 0.0),
    ],
)
def test_what_such_a_verifier_sees(task, text, expected):
    (row,) = rows(task, 1)
    assert judge(row, text) == expected


def test_lists_get_their_part_marks():
    (row,) = rows("string_insertion", 1)
    assert judge(row, str(list(row["answer"]))) == pytest.approx(0.1)
    (row,) = rows("n_queens", 1)
    assert judge(row, str([line.split() for line in row["answer"].split("\n")])) == pytest.approx(0.5)
    other = row["metadata"]["valid_answers"][-1]
    assert judge(row, other) == 1.0


def test_nan_is_no_complex_number():
    for row in rows("complex_arithmetic"):
        assert judge(row, "nan") == judge(row, "nan+nanj") == judge(row, "inf") == 0.0


def test_a_verifier_that_raises_on_a_text_has_refused_it():
    """`game_of_life` looks a key of the answer up."""
    (row,) = rows("game_of_life", 1)
    from reasoning_gym.factory import get_score_answer_fn

    with pytest.raises(KeyError):
        get_score_answer_fn("game_of_life")("{}", {**row, "question": row["prompt"]})
    assert judge(row, "{}") == 0.0
    with pytest.raises(RewardError, match="does not accept the row's own answer either"):
        judge({**row, "answer": "[[0], 5]"}, "[[0], 1]")


def test_rows_that_are_none_of_its_own():
    with pytest.raises(RewardError, match="the row has: prompt, answer"):
        judge({"prompt": "1+1=", "answer": "2"}, "2")
    with pytest.raises(RewardError, match="`answer`, a text"):
        judge({"answer": 2, "metadata": {"source_dataset": "chain_sum"}}, "2")
    with pytest.raises(ConfigError, match="`tag`"):
        ReasoningGym(extract="boxed")
    assert ReasoningGym().gold({"prompt": "?"}) is None
    assert ReasoningGym(extract="last_line").gold({"answer": "1\n2"}) is None
