"""A reward as a run uses it: counted, cached, held to its contract."""

import threading

import pytest

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.harness import HarnessConfig, make_judge
from groupwise.rewards.working import check_reward

REWARDS = """
import os, time

def size(row, text):
    if text == "raise":
        raise KeyError("hm")
    if text == "sleep":
        time.sleep(100)
    return None if text == "?" else len(text)

def counted(row, text):
    with open(row["log"], "a") as log:
        log.write(text + "\\n")
    return None if text == "?" else len(text)

counted.deterministic = True

def batch(rows, texts):
    return [len(texts)] * len(texts)

batch.batched = True

def group(row, texts):
    return [sorted(texts).index(text) for text in texts]

group.grouped = True

def one_for_all(rows, texts):
    return 1.0

one_for_all.batched = True

def here(row, text):
    return os.getpid()

here.in_process = True

def right(row, text):
    return text == row["answer"]

right.gold = "answer"

def backwards(row, text):
    return text != row["answer"]

backwards.gold = "answer"

def unsteady(row, text):
    return time.monotonic()

unsteady.gold = "answer"

def liar(row, text):
    return time.monotonic()

liar.gold, liar.deterministic = "answer", True
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rewards") / "mine.py"
    path.write_text(REWARDS)
    return path


@pytest.fixture
def judge_of(file):
    made = []

    def make(name, settings=(), *, on_error="stop", **config):
        spec = f"{file}:{name}" if f"def {name}(" in REWARDS else name
        made.append(make_judge(spec, dict(settings), config=HarnessConfig(**config), on_error=on_error))
        return made[-1]

    yield make
    for judge in made:
        judge.close()


ROW = {"answer": "4"}


def scores(judge, row, texts):
    return [judged.score for judged in judge.submit(row, texts).result()]


def test_a_group_in_order_with_what_could_not_be_judged(judge_of):
    judge = judge_of("size", timeout_s=0.5)
    assert scores(judge, ROW, ["a", "?", "sleep", "bb", "bb"]) == [1, None, None, 2, 2]
    measured = judge.measured()
    assert measured["reward/lost"] == 1
    assert measured["reward/seconds"] >= 0.5
    assert judge.measured()["reward/lost"] == 0  # since the last time


def test_a_time_out_has_a_score_only_if_the_user_says_so(judge_of):
    judge = judge_of("size", timeout_s=0.3, timeout_score=-1.0)
    (judged,) = judge.submit(ROW, ["sleep"]).result()
    assert (judged.score, judged.parts) == (-1.0, {"lost": 1.0})


def test_a_failure_stops_and_shows_the_sample(judge_of):
    judge = judge_of("size")
    with pytest.raises(RewardError, match=r"raised KeyError: 'hm'\n  row: {'answer': '4'}\n  text: 'raise'\n"):
        judge.submit(ROW, ["a", "raise"]).result()


def test_a_failure_is_unjudged_if_the_run_is_to_go_on(judge_of):
    judge = judge_of("size", on_error="unjudged")
    a, failed = judge.submit(ROW, ["a", "raise"]).result()
    assert (a.score, failed.score) == (1.0, None)
    assert "KeyError" in failed.error


def test_one_value_for_many_is_an_error_and_no_broadcast(judge_of):
    with pytest.raises(RewardError, match="one value for each text"):
        judge_of("one_for_all").submit(ROW, ["a", "b"]).result()


def test_batched_and_grouped_rewards_get_a_group(judge_of):
    assert scores(judge_of("batch"), ROW, ["a", "b", "c"]) == [3, 3, 3]
    assert scores(judge_of("group"), ROW, ["c", "a", "b"]) == [2, 0, 1]


def test_neighbours_with_one_row_are_a_group(judge_of):
    one, two = {"answer": "1"}, {"answer": "1"}  # equal, and not the same
    judged = judge_of("group")([one, one, two, two], ["b", "a", "d", "c"])
    assert [j.score for j in judged] == [1, 0, 1, 0]


def test_a_deterministic_reward_is_asked_once_for_an_equal_text_on_an_equal_row(judge_of, tmp_path):
    log = tmp_path / "log"
    judge = judge_of("counted")
    row = {"log": str(log)}
    assert scores(judge, row, ["a", "bb", "a"]) == [1, 2, 1]
    assert scores(judge, dict(row), ["bb", "ccc"]) == [2, 3]
    assert sorted(log.read_text().split()) == ["a", "bb", "ccc"]
    assert judge.measured()["reward/cached"] == 2
    assert scores(judge, {**row, "other": 1}, ["a"]) == [1]
    assert len(log.read_text().split()) == 4


def test_no_more_is_kept_than_asked_for(judge_of, tmp_path):
    log = tmp_path / "log"
    judge = judge_of("counted", cache=1)
    row = {"log": str(log)}
    for text in ("a", "b", "b", "a"):
        scores(judge, row, [text])
    assert log.read_text().split() == ["a", "b", "a"]


def test_in_process_and_without_workers(judge_of):
    import os

    assert scores(judge_of("here"), ROW, ["a"]) == [os.getpid()]
    assert scores(judge_of("size", workers=0), ROW, ["aa", "?"]) == [2, None]


def test_in_process_groups_are_judged_in_one_go(judge_of):
    judge = judge_of("batch", workers=0)
    pending = [judge.submit(dict(ROW), ["a", "b"]), judge.submit(dict(ROW), ["c"])]
    assert [j.score for one in pending for j in one.result()] == [3, 3, 3]


def test_many_threads_may_ask(judge_of):
    judge = judge_of("size")
    found = {}

    def ask(n):
        found[n] = scores(judge, ROW, ["x" * n, "y" * (n + 1)])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [n, n + 1] for n in range(20)}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"workers": -1}, "rewards.workers = -1, must be 0 or more, `ray`, or null"),
        ({"timeout_s": 0}, "rewards.timeout_s = 0, must be above 0"),
        ({"memory_mb": 1}, "rewards.memory_mb = 1, must be 256 or more"),
        ({"cache": -1}, "rewards.cache = -1, must be 0 or more"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(ConfigError, match=said):
        HarnessConfig(**settings)


ROWS = [{"prompt": f"{n}+1", "answer": str(n + 1)} for n in range(10)]


def test_a_reward_that_works(file):
    report = check_reward(f"{file}:right", {}, ROWS)
    assert report.works
    assert (report.gold, report.missed, report.shuffled, report.fooled, report.unjudged) == (10, 0, 10, 0, 0)
    assert (report.gold_mean, report.shuffled_mean, report.unsteady) == (1, 0, 0)


def test_a_reward_that_is_the_wrong_way_round(file):
    report = check_reward(f"{file}:backwards", {}, ROWS)
    assert not report.works
    assert (report.false_negatives, report.false_positives) == (1, 1)
    assert report.misses[0].text == "1"
    assert report.fools[0].text == "2"
    assert "of 10 right answers 10 scored below 0.5 (100.0% false negatives)" in str(report)


def test_what_could_not_be_judged_is_asked_again(judge_of, tmp_path):
    judge, row = judge_of("counted"), {"log": str(tmp_path / "log")}
    assert scores(judge, row, ["?", "a"]) == scores(judge, row, ["?", "a"]) == [None, 1]
    assert sorted((tmp_path / "log").read_text().split()) == ["?", "?", "a"]


def test_a_replay_shows_what_is_not_deterministic(file):
    report = check_reward(f"{file}:unsteady", {}, ROWS)
    assert report.unsteady == 10
    assert not report.works
    with pytest.raises(RewardError, match="says it is deterministic, and 10 of 10 judgements"):
        check_reward(f"{file}:liar", {}, ROWS)


def test_nothing_says_what_is_right(file):
    assert check_reward(f"{file}:size", {}, ROWS) is None
    assert check_reward(f"{file}:size", {}, ROWS, column="answer").gold == 10


@pytest.mark.parametrize("extract", ["boxed", "hashes", "whole", "last_number"])
def test_the_gold_text_of_exact_answer_is_read_as_it_extracts(extract):
    rows = [*ROWS, {"prompt": "?", "answer": "so 3 + 4 = 7\n#### 7"}]
    report = check_reward("exact_answer", {"extract": extract}, rows)
    assert report.works
    assert (report.gold, report.missed, report.fooled) == (11, 0, 0)
