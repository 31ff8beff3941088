import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch

from groupwise.errors import MissingExtra, RewardError
from groupwise.rewards import Judgement, score_batch, score_group

ROW = {"prompt": "1+1=", "answer": "2"}


def returning(value):
    return lambda row, text: value


def batched(function):
    function.batched = True
    return function


def test_scores_in_order():
    judged = score_group(lambda row, text: text == row["answer"], ROW, ["2", "3", ""])
    assert [j.score for j in judged] == [1.0, 0.0, 0.0]
    assert all(type(j.score) is float for j in judged)


def test_no_texts():
    assert score_group(returning(1.0), ROW, []) == []
    assert score_group(batched(lambda rows, texts: 1 / 0), ROW, []) == []


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.0,
        True,
        np.float32(1),
        np.bool_(True),
        np.int64(1),
        torch.tensor(1.0),
        torch.tensor(1),
        np.array(1.0),
        Fraction(1),
    ],
)
def test_every_kind_of_number_becomes_a_float(value):
    (judged,) = score_group(returning(value), ROW, ["2"])
    assert judged == Judgement(score=1.0)
    assert type(judged.score) is float


def test_none_is_unjudged_without_an_error():
    assert score_group(returning(None), ROW, ["2"]) == [Judgement(score=None)]


def test_parts_are_summed_unless_they_name_the_score():
    (summed,) = score_group(returning({"right": 1, "short": np.float32(0.5)}), ROW, ["2"])
    assert summed == Judgement(score=1.5, parts={"right": 1.0, "short": 0.5})
    (named,) = score_group(returning({"right": 1.0, "short": 0.5, "score": 0.25}), ROW, ["2"])
    assert named == Judgement(score=0.25, parts={"right": 1.0, "short": 0.5})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1.0", r"'1.0' \(str\)"),
        ([1.0], r"\[1.0\] \(list\)"),
        (b"1", "bytes"),
        (1j, "complex"),
        (np.array([1.0]), "ndarray"),
        (torch.ones(1), "Tensor"),
        (np.str_("1"), "str"),
        (math.nan, "nan as the score"),
        (-math.inf, "finite"),
        (torch.tensor(math.nan), "finite"),
        (10**400, "finite"),
        ({}, "at least one part"),
        ({1: 1.0}, "names that are strings"),
        ({"right": None}, "part `right`"),
        ({"right": math.nan}, "nan as part `right`"),
        ({"right": 1.0, "score": "high"}, "part `score`"),
        ({"a": 3e38, "b": 3e38}, "the sum of parts"),
    ],
)
def test_a_broken_contract_shows_the_sample_or_is_counted(value, said):
    with pytest.raises(RewardError, match=said) as caught:
        score_group(returning(value), ROW, ["the text"])
    assert "'answer': '2'" in str(caught.value)
    assert "'the text'" in str(caught.value)
    (judged,) = score_group(returning(value), ROW, ["the text"], on_error="unjudged")
    assert judged.score is None
    assert "reward `<lambda>` returned" in judged.error


def test_a_raising_reward():
    def picky(row, text):
        return 1.0 / len(text)

    with pytest.raises(RewardError, match="reward `picky` raised ZeroDivisionError") as caught:
        score_group(picky, ROW, ["a", ""])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    fine, failed = score_group(picky, ROW, ["a", ""], on_error="unjudged")
    assert fine.score == 1.0
    assert failed.score is None
    assert "ZeroDivisionError" in failed.error
    with pytest.raises(RewardError, match="reward `picky`"):
        score_group(partial(picky), ROW, [""])


def test_long_samples_are_shortened():
    with pytest.raises(RewardError) as caught:
        score_group(returning("bad"), {"document": "d" * 100_000}, ["t" * 100_000])
    assert len(str(caught.value)) < 2_000
    assert "100,002 characters" in str(caught.value)


def test_a_missing_package_always_stops():
    def needs_package(row, text):
        raise MissingExtra("package", "extra", "this reward")

    for reward in (needs_package, batched(lambda rows, texts: needs_package(rows, texts))):
        with pytest.raises(MissingExtra):
            score_group(reward, ROW, ["2"], on_error="unjudged")


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_a_batched_reward_is_called_once_with_lists(kind):
    calls = []

    def reward(rows, texts):
        calls.append((rows, texts))
        return kind([float(text == row["answer"]) for row, text in zip(rows, texts, strict=True)])

    judged = score_batch(batched(reward), [ROW, {"answer": "3"}], ["2", "2"])
    assert [j.score for j in judged] == [1.0, 0.0]
    assert calls == [([ROW, {"answer": "3"}], ["2", "2"])]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.0, "one value for each text"),
        (torch.tensor(1.0), "one value for each text"),
        ("12", "one value for each text"),
        ({"right": 1.0}, "one value for each text"),
        ([1.0], "returned 1 values for 2 texts"),
        ([1.0] * 3, "returned 3 values for 2 texts"),
        ([1.0, math.nan], "finite"),
        ([1.0, "2"], "str"),
    ],
)
def test_a_batched_reward_returns_one_value_for_each_text(value, said):
    reward = batched(lambda rows, texts: value)
    with pytest.raises(RewardError, match=said):
        score_group(reward, ROW, ["2", "3"])
    judged = score_group(reward, ROW, ["2", "3"], on_error="unjudged")
    assert judged[1].score is None
    assert judged[1].error
    one_was_fine = isinstance(value, list) and len(value) == 2
    assert (judged[0].score == 1.0) == one_was_fine


def test_a_batched_reward_may_leave_single_texts_unjudged():
    judged = score_group(batched(lambda rows, texts: [None, {"a": 1, "b": 2}]), ROW, ["2", "3"])
    assert judged == [Judgement(score=None), Judgement(score=3.0, parts={"a": 1.0, "b": 2.0})]


@pytest.mark.parametrize("score", [1e39, -(10**400)])
def test_a_score_that_float32_cannot_hold_is_refused(score):
    with pytest.raises(RewardError, match="finite, also in float32"):
        score_group(lambda row, text: score, ROW, ["2"])


def test_a_reward_that_ends_the_process_shows_the_sample():
    def leave(row, text):
        raise SystemExit(3)

    with pytest.raises(RewardError, match=r"raised SystemExit: 3\n  row: .*1\+1="):
        score_group(leave, ROW, ["2"])


def test_a_reward_that_changes_the_row_changes_its_own_copy():
    def greedy(row, text):
        return float(row.pop("answer") == text)

    row = dict(ROW)
    assert [judged.score for judged in score_group(greedy, row, ["2", "2"])] == [1.0, 1.0]
    many = batched(lambda rows, texts: [float(r.pop("answer") == t) for r, t in zip(rows, texts, strict=True)])
    assert [judged.score for judged in score_group(many, row, ["2", "2"])] == [1.0, 1.0]
    assert row == ROW


def test_steps_of_a_process_reward():
    (found,) = score_batch(lambda row, text: {"steps": [(1, 0.5), (4, 1)]}, [{}], ["abcd"])
    assert found.steps == ((1, 0.5), (4, 1.0))
    assert found.score == 0.75
    (found,) = score_batch(lambda row, text: {"score": 2.0, "steps": [(1, 0.5)]}, [{}], ["abcd"])
    assert (found.score, found.parts) == (2.0, {})


@pytest.mark.parametrize("steps", [[], [(0, 1.0)], [(2, 1.0), (2, 1.0)], [(1, float("nan"))], [3], "ab"])
def test_steps_out_of_order_or_form_are_refused(steps):
    with pytest.raises(RewardError, match=r"step"):
        score_batch(lambda row, text: {"steps": steps}, [{}], ["abcd"])
