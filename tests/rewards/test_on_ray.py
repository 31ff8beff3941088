"""Rewards judged on a cluster of two nodes, on this machine: same limits, and a node that dies loses nothing."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("ray", reason="rewards on a cluster: pip install 'groupwise[ray]'")

REWARD = """
import os, time

def reward(row, text):
    if text == "sleep":
        time.sleep(100)
    if text == "exit":
        os._exit(3)
    if text == "raise":
        raise KeyError("hm")
    if text == "pid":
        return os.getpid()
    time.sleep(0.05)
    return len(text)
"""

DRIVER = """
import sys, threading, time
from ray.cluster_utils import Cluster
import ray
from groupwise.errors import ConfigError
from groupwise.rewards.harness import HarnessConfig, make_judge

node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 << 20}
cluster = Cluster(initialize_head=True, head_node_args=node)
second = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
ray.init(address=cluster.address, log_to_driver=False)
judge = make_judge(sys.argv[1], {}, config=HarnessConfig(workers="ray", timeout_s=1.0), on_error="unjudged")
found = judge.submit({}, ["a", "sleep", "exit", "raise", "bb"]).result()
print("FOUND", [(j.score, j.lost or j.error) for j in found], flush=True)
places = {ray.get(worker.actor.node.remote()) for worker in judge._jobs._state.workers}
print("FOUND", len(places), flush=True)
pending = judge.submit({}, ["x" * n for n in range(1, 81)])
time.sleep(0.5)
cluster.remove_node(second, allow_graceful=False)
print("FOUND", [j.score for j in pending.result()] == list(range(1, 81)), flush=True)
judge.close()
try:
    make_judge("exact_answer", {"extract": "boxed"}, config=HarnessConfig(workers="ray")).submit({}, ["a"]).result()
except ValueError as error:
    print("FOUND", type(error).__name__, flush=True)
ray.shutdown()
cluster.shutdown()
"""


def test_two_nodes(tmp_path):
    (tmp_path / "mine.py").write_text(REWARD)
    quiet = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, f"{tmp_path}/mine.py:reward"],
        capture_output=True,
        text=True,
        timeout=150,
        env=os.environ | quiet,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    judged, places, whole, failed = [
        line.removeprefix("FOUND ") for line in done.stdout.splitlines() if line.startswith("FOUND ")
    ]
    assert judged == str(
        [
            (1.0, ""),
            (None, "took longer than 1 s"),
            (None, "its process ended with status 3"),
            (None, "reward `reward` raised KeyError: 'hm'"),
            (2.0, ""),
        ]
    )
    assert places == "2"
    assert whole == "True"
    assert failed == "RewardError"
