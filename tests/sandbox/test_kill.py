"""Whoever is killed: no process stays behind, no judgement is lost."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from groupwise.sandbox import Sandbox

TIERS = ["namespaces", "landlock"]
HANG = 30.0  # seconds after which a test says that something hangs

CLIENT = """
import sys, threading, time
from groupwise.sandbox import Sandbox

box = Sandbox(workers=2, tier=sys.argv[1], cpu_s=60)
box.run_tests("def f(): return 1", entry="f", tests="assert f() == 1")
spin = "def f():\\n    while True: pass"
sleep = "import time\\ndef f(): time.sleep(1000)"
for source in (spin, sleep):
    threading.Thread(target=box.run_tests, args=(source,), kwargs={"entry": "f", "tests": "f()"}).start()
time.sleep(0.5)
print(*box.pids(), flush=True)
time.sleep(1000)
"""


def until(happened):
    deadline = time.monotonic() + HANG
    while not happened():
        assert time.monotonic() < deadline, "still not so"
        time.sleep(0.02)


def descendants(pid):
    """Process ids of a process's children and theirs, itself included."""
    found = [pid]
    for one in found:
        try:
            with open(f"/proc/{one}/task/{one}/children") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            continue
    return found


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("tier", TIERS)
def test_killing_the_client_leaves_nothing(tier):
    client = subprocess.Popen([sys.executable, "-c", CLIENT, tier], stdout=subprocess.PIPE, text=True)
    try:
        zygotes = [int(pid) for pid in client.stdout.readline().split()]
        assert len(zygotes) == 4  # two workers, each with a judge
        everything = [pid for zygote in zygotes for pid in descendants(zygote)]
        assert len(everything) >= 4 + 4, "each zygote runs a child"
        assert all(map(running, everything))
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    until(lambda: not any(map(running, everything)))


def test_a_fork_of_the_client_does_not_keep_workers():
    code = CLIENT.replace("print(*box", "import os\nif os.fork() == 0: time.sleep(1000)\nprint(*box")
    client = subprocess.Popen([sys.executable, "-c", code, "landlock"], stdout=subprocess.PIPE, text=True)
    fork = None
    try:
        zygotes = [int(pid) for pid in client.stdout.readline().split()]
        (fork,) = set(descendants(client.pid)[1:]) - {pid for one in zygotes for pid in descendants(one)}
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    try:
        assert running(fork)
        until(lambda: not any(map(running, zygotes)))
    finally:
        os.kill(fork, signal.SIGKILL)


@pytest.mark.parametrize("tier", TIERS)
def test_killing_a_zygote_loses_no_judgement(tier):
    source = "import time\ndef f(x):\n    time.sleep(0.3)\n    return x"
    with Sandbox(workers=2, tier=tier) as box:
        verdicts = []

        def judge(number):
            tests = f"assert f({number}) == {number}"
            verdicts.append(box.run_calls(source, entry="f", inputs=[[number]], expected=[number]))
            verdicts.append(box.run_tests(source, entry="f", tests=tests))

        callers = [threading.Thread(target=judge, args=(number,)) for number in range(4)]
        for caller in callers:
            caller.start()
        for _ in range(2):
            time.sleep(0.15)
            for pid in box.pids():
                os.kill(pid, signal.SIGKILL)
        for caller in callers:
            caller.join(HANG)
        assert [verdict.verdict for verdict in verdicts] == ["pass"] * 8


@pytest.mark.parametrize("tier", TIERS)
def test_closing_ends_every_process(tier):
    box = Sandbox(workers=2, tier=tier)
    box.run_tests("def f(): return 1", entry="f", tests="assert f() == 1")
    everything = [pid for zygote in box.pids() for pid in descendants(zygote)]
    assert all(map(running, everything))
    box.close()
    assert box.pids() == []
    until(lambda: not any(map(running, everything)))
    with pytest.raises(ValueError, match="closed"):
        box.run_stdio("", stdin="", expected="")


def test_a_zygote_that_hangs_is_replaced(monkeypatch):
    monkeypatch.setattr("groupwise.sandbox.execution._GRACE", 0.5)
    with Sandbox(workers=1, cpu_s=1, wall_s=1) as box:
        for pid in descendants(box.pids()[0]):
            os.kill(pid, signal.SIGSTOP)
        verdict = box.run_calls("def f(): return 1", entry="f", inputs=[[]], expected=[1])
    assert verdict.verdict == "pass"
