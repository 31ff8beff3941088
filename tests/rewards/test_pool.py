"""Processes that judge: limits, kills, replacement, and what is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.pool import Pool, Setup

REWARD = """
import os, sys, time

def reward(row, text):
    if text == "sleep":
        time.sleep(100)
    if text == "lock":
        return 9**9**9  # never gives up Python's lock
    if text == "exit":
        os._exit(3)
    if text == "crash":
        import ctypes
        ctypes.string_at(0)
    if text == "memory":
        return len("x" * (8 << 30))
    if text == "raise":
        raise KeyError("hm")
    if text == "print":
        print("heard")
    if text == "pid":
        return os.getpid()
    if text == "fork":
        child = os.fork()
        if not child:
            time.sleep(100)
            os._exit(0)
        return child
    if text == "torch":
        return "torch" in sys.modules
    return len(text)

async def waiting(row, text):
    import asyncio
    await asyncio.sleep(float(text))
    return float(text)

def drawn(row, text):
    import random
    return random.random()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rewards") / "mine.py"
    path.write_text(REWARD)
    return path


@pytest.fixture
def pool(file):
    pool = Pool(Setup(name=f"{file}:reward", timeout_s=0.5, memory_mb=512), workers=2)
    yield pool
    pool.close()


def judge(pool, *texts):
    jobs = [pool.submit([{}], [text]) for text in texts]
    return [judgement for job in jobs for judgement in job.result(timeout=60).judgements]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid, seconds=10):
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


def test_what_meets_a_limit_is_lost_and_says_why_and_the_others_are_judged(pool):
    texts = ["a", "sleep", "bb", "lock", "memory", "exit", "crash", "ccc"]
    found = judge(pool, *texts)
    assert [judged.score for judged in found] == [1, None, 2, None, None, None, None, 3]
    why = [judged.lost for judged in found]
    assert why[1] == why[3] == "took longer than 0.5 s"
    assert why[4] == "ran out of memory"
    assert why[5] == "its process ended with status 3"
    assert why[6] == f"its process ended by signal {signal.SIGSEGV.value}"
    assert not any(judged.error for judged in found)


def test_what_raises_failed_and_is_not_lost(pool):
    (judged,) = judge(pool, "raise")
    assert (judged.score, judged.lost) == (None, "")
    assert judged.error == "reward `reward` raised KeyError: 'hm'"


def test_the_clock_starts_with_the_work_not_with_the_queue(file):
    pool = Pool(Setup(name=f"{file}:waiting", timeout_s=0.6, memory_mb=None), workers=1)
    try:
        jobs = [pool.submit([{}], ["0.3"]) for _ in range(4)]  # 1.2 s of work behind one another
        judged = [job.result(timeout=60) for job in jobs]
    finally:
        pool.close()
    assert [j.judgements[0].score for j in judged] == [0.3] * 4
    assert judged[3].waited > 0.8
    assert all(0.3 <= j.seconds < 0.6 for j in judged)


def test_async_judgements_of_one_job_wait_together_each_with_its_own_limit(file):
    pool = Pool(Setup(name=f"{file}:waiting", timeout_s=1.0, memory_mb=None), workers=1)
    try:
        judged = pool.submit([{}] * 9, [*["0.5"] * 8, "30"]).result(timeout=60)
    finally:
        pool.close()
    assert [j.score for j in judged.judgements] == [0.5] * 8 + [None]
    assert judged.judgements[8].lost == "took longer than 1 s"
    assert judged.seconds < 8 * 0.5


def test_a_lost_worker_is_replaced(pool):
    before = {judged.score for judged in judge(pool, *["pid"] * 8)}
    judge(pool, "sleep", "sleep")
    after = {judged.score for judged in judge(pool, *["pid"] * 8)}
    assert not before & after
    assert all(gone(int(pid)) for pid in before)


def test_a_worker_that_was_killed_from_outside_loses_no_judgement(pool):
    pids = {int(judged.score) for judged in judge(pool, *["pid"] * 8)}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert [judged.score for judged in judge(pool, "aaaa", "bb", "c")] == [4, 2, 1]


def test_what_a_reward_started_ends_with_its_worker(file):
    pool = Pool(Setup(name=f"{file}:reward", timeout_s=0.5, memory_mb=512), workers=1)
    (of_lost,) = judge(pool, "fork")
    judge(pool, "sleep")  # that worker is killed
    assert gone(int(of_lost.score))
    (of_last,) = judge(pool, "fork")
    pool.close()
    assert gone(int(of_last.score))


def test_closing_ends_the_processes_and_what_waits(file):
    pool = Pool(Setup(name=f"{file}:reward", timeout_s=60, memory_mb=None), workers=1)
    (pid,) = judge(pool, "pid")
    jobs = [pool.submit([{}], ["sleep"]) for _ in range(3)]
    time.sleep(0.2)
    pool.close()
    assert gone(int(pid.score))
    assert jobs[1].cancelled()
    assert jobs[2].cancelled()


def test_a_trainer_that_is_killed_leaves_no_process_behind(file):
    code = f"""
import sys, time
from groupwise.rewards.pool import Pool, Setup
pool = Pool(Setup(name={str(file) + ":reward"!r}, timeout_s=100, memory_mb=None), workers=2)
pids = [pool.submit([{{}}], ["pid"]).result().judgements[0].score for _ in range(4)]
print(*{{int(pid) for pid in pids}}, flush=True)
pool.submit([{{}}], ["lock"]), pool.submit([{{}}], ["sleep"])
time.sleep(100)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as trainer:
        pids = [int(pid) for pid in trainer.stdout.readline().split()]
        time.sleep(0.3)
        trainer.kill()
    assert pids
    assert all(gone(pid) for pid in pids)


def test_prints_do_not_reach_the_trainers_standard_output(file):
    code = (
        "from groupwise.rewards.pool import Pool, Setup\n"
        f"pool = Pool(Setup(name={str(file) + ':reward'!r}, timeout_s=10, memory_mb=None), workers=1)\n"
        "print(pool.submit([{}], ['print']).result().judgements[0].score)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "5.0\n"
    assert "heard" in done.stderr


def test_a_worker_has_no_torch_unless_the_reward_does(pool):
    assert judge(pool, "torch")[0].score == 0


def test_what_is_drawn_is_a_function_of_row_and_text(file):
    pool = Pool(Setup(name=f"{file}:drawn", timeout_s=10, memory_mb=None), workers=2)
    try:
        one, two, other = judge(pool, "a", "a", "b")
    finally:
        pool.close()
    assert one.score == two.score != other.score


def test_a_reward_that_cannot_be_made_is_the_users_error(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("class Bad:\n    def __init__(self):\n        raise OSError('no such list')\n    __call__ = None\n")
    pool = Pool(Setup(name=f"{path}:Bad", timeout_s=10, memory_mb=None), workers=1)
    try:
        with pytest.raises(ConfigError, match=r"cannot be made with \{\}: OSError: no such list"):
            pool.submit([{}], ["a"]).result(timeout=60)
    finally:
        pool.close()


def test_a_file_that_ends_the_process_on_import_is_named(tmp_path):
    path = tmp_path / "ends.py"
    path.write_text("import os\nos._exit(7)\n")
    pool = Pool(Setup(name=f"{path}:r", timeout_s=10, memory_mb=None), workers=1)
    try:
        with pytest.raises(RewardError, match=r"ends.py:r` did not start: its process ended with status 7"):
            pool.submit([{}], ["a"]).result(timeout=60)
    finally:
        pool.close()
