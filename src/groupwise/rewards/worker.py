"""The process that judges: `python -m groupwise.rewards.worker FD`, started by pool.Worker. It stays without torch.

It is sent a pickled Setup, and answers "" or why it cannot judge; then one pickled (rows, texts) after the other, and
answers each with a judgement for each text, as JSON: what a reward makes is not unpickled by the trainer.
"""

import asyncio
import ctypes
import json
import math
import os
import pickle
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any
from zlib import crc32

from groupwise.errors import GroupwiseError
from groupwise.rewards import apart
from groupwise.rewards.call import Judgement, is_async, score_async, score_batch
from groupwise.rewards.load import load_reward
from groupwise.rewards.pool import Setup

SLACK_S = 2.0  # the processor time that a judgement may take beyond its limit, before the kernel ends the process


def main() -> None:
    """Serve until the trainer closes its end."""
    trainer = Connection(int(sys.argv[1]))
    os.dup2(2, 1)  # what a reward prints must not stand in the trainer's standard output
    apart.inside = True
    _end_with_parent()
    setup: Setup = pickle.loads(trainer.recv_bytes())
    sys.path[:] = setup.path
    try:
        reward = setup.reward if setup.reward is not None else load_reward(setup.name, **setup.settings)
    except GroupwiseError as error:
        trainer.send_bytes(f"{type(error).__name__}: {error}".encode(errors="replace"))
        return
    _limit_memory(setup.memory_mb)
    trainer.send_bytes(b"")
    while True:
        try:
            rows, texts = pickle.loads(trainer.recv_bytes())
        except EOFError:
            return
        judged = _judge(reward, rows, texts, setup)
        trainer.send_bytes(json.dumps([asdict(judgement) for judgement in judged]).encode())


def _judge(reward: Any, rows: Sequence[Any], texts: Sequence[str], setup: Setup) -> list[Judgement]:
    if setup.timeout_s is not None:
        _limit_processor(setup.timeout_s * len(texts) + SLACK_S)
    _seed(rows, texts)
    try:
        if is_async(reward):
            return asyncio.run(score_async(reward, rows, texts, on_error="unjudged", limit_s=setup.timeout_s))
        return score_batch(reward, rows, texts, on_error="unjudged")
    except GroupwiseError as error:  # a package that is not installed
        return [Judgement(score=None, error=str(error))] * len(texts)


def _seed(rows: Sequence[Any], texts: Sequence[str]) -> None:
    """A reward that draws gives a text the same score in whatever process and order it is judged."""
    seed = crc32(repr((rows, texts)).encode(errors="surrogatepass"))
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)


def _limit_memory(megabytes: int | None) -> None:
    if megabytes is not None:
        limit = megabytes << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _limit_processor(seconds: float) -> None:
    """Code that never gives up Python's lock, such as 9**9**9, ends by the kernel even if the trainer is gone."""
    soft = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _end_with_parent() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: when the thread that started this one ends

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
