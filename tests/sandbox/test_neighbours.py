"""What one program does is nothing to the programs beside it: not in the same sandbox, not in another one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from groupwise.sandbox import Sandbox, SandboxError

HONEST = "def add(a, b):\n    return a + b\n"
CROWD = """
import threading, time
def add(a, b):
    threading.stack_size(32768)
    count = 0
    try:
        for _ in range(400):
            threading.Thread(target=time.sleep, args=(0.6,), daemon=True).start()
            count += 1
    except (RuntimeError, MemoryError):
        pass
    print(count)
    time.sleep(0.6)
    return a + b
"""
GREEDY = """
import time
def add(a, b):
    kept = []
    try:
        while True:
            kept.append(b"z" * (4 << 20) + bytes(len(kept)))
    except MemoryError:
        time.sleep(0.5)
    return a + b
"""
FULL = """
import time
def add(a, b):
    for number in range(2000):
        try:
            with open(f"/tmp/{number}", "wb") as file:
                file.write(b"z" * (1 << 20))
        except OSError:
            break
    time.sleep(0.5)
    return a + b
"""
WRITES_AND_LOOKS = """
import os, time
def add(a, b):
    seen = set()
    for number in range(20):
        try:
            open(f"/tmp/of-{a}-{number}", "w").close()
        except OSError:
            pass
        seen |= {name for name in os.listdir("/tmp") if not name.startswith(f"of-{a}-")}
        time.sleep(0.01)
    return sorted(seen)
"""


def _add(box, source, *, a=1, b=2, expected=3):
    return box.run_calls(source, entry="add", inputs=[[a, b]], expected=[expected])


@pytest.fixture(params=["namespaces", "landlock"])
def boxes(request):
    """Two sandboxes of one user at once."""
    settings = {"tier": request.param, "memory_mb": 128, "cpu_s": 5, "wall_s": 60, "scratch_mb": 8}
    try:
        one, other = Sandbox(workers=4, **settings), Sandbox(workers=1, **settings)
    except SandboxError as error:
        pytest.skip(str(error))
    with one, other:
        yield one, other


ONLY_NAMESPACES = pytest.mark.parametrize("boxes", ["namespaces"], indirect=True)


@pytest.mark.parametrize("source", [CROWD, GREEDY, FULL], ids=["crowd", "greedy", "full"])
def test_a_program_does_not_disturb_its_neighbours(boxes, source):
    one, other = boxes
    with ThreadPoolExecutor(3) as pool:
        loud = [pool.submit(_add, one, source) for _ in range(3)]
        time.sleep(0.3)
        quiet = [_add(box, HONEST) for _ in range(10) for box in boxes]
        tested = other.run_tests(HONEST, entry="add", tests="assert add(1, 2) == 3")
    assert [verdict.verdict for verdict in quiet] == ["pass"] * 20
    assert tested.verdict == "pass"
    assert {verdict.result().verdict for verdict in loud} <= {"pass", "memory"}


@ONLY_NAMESPACES  # elsewhere address space bounds the threads, not their count
def test_a_crowd_of_threads_is_counted_for_each_worker(boxes):
    one, _ = boxes
    with ThreadPoolExecutor(4) as pool:
        counts = [int(verdict.stdout) for verdict in pool.map(lambda _: _add(one, CROWD), range(4))]
    assert all(20 <= count <= one.limits.threads + 4 for count in counts), counts


@ONLY_NAMESPACES  # elsewhere nothing may be written
def test_programs_do_not_meet_in_tmp(boxes):
    one, _ = boxes
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda a: _add(one, WRITES_AND_LOOKS, a=a, expected=[]), range(4)))
    assert [verdict.verdict for verdict in verdicts] == ["pass"] * 4, verdicts[0].message


def test_many_threads_may_call(boxes):
    one, other = boxes
    wrong: list[str] = []

    def call(number):
        box = (one, other)[number % 2]
        if _add(box, HONEST, a=number, b=1, expected=number + 1).verdict != "pass":
            wrong.append(f"{number}")
        if _add(box, HONEST, a=number, b=1, expected=number).verdict != "fail":
            wrong.append(f"not {number}")

    team = [threading.Thread(target=call, args=(number,)) for number in range(40)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert wrong == []
