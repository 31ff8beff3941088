"""Judge in this process: rewards that hold a model of it, or that wait for others and have limits of their own."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from groupwise.rewards.call import Reward, Row, reward_name, score_batch
from groupwise.rewards.pool import Judged


class Result(Protocol):
    """What becomes of a job."""

    def result(self) -> Judged:
        """Wait for it."""
        ...


class Jobs(Protocol):
    """What takes jobs: this process, worker processes of this machine, or of several."""

    def submit(self, rows: Sequence[Row], texts: Sequence[str]) -> Result:
        """Judge these, in one job."""
        ...

    def close(self) -> None:
        """End what judges."""
        ...


class Here:
    """Judges all that waits in one go when the first result is asked for: a model is faster on many texts."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._waiting: list[_Later] = []

    def submit(self, rows: Sequence[Row], texts: Sequence[str]) -> Result:
        """Judge these when a result is asked for."""
        later = _Later(self, rows, texts)
        self._waiting.append(later)
        return later

    def judge_all(self) -> None:
        """Judge what waits."""
        waiting, self._waiting = self._waiting, []
        rows, texts = ([one for later in waiting for one in getattr(later, name)] for name in ("rows", "texts"))
        found = _judge(self.reward, rows, texts)
        judgements, seconds = iter(found.judgements), found.seconds
        for later in waiting:
            later.judged = Judged([next(judgements) for _ in later.texts], seconds, 0.0)
            seconds = 0.0  # told once

    def close(self) -> None:
        """Nothing is left behind."""


class _Later:
    def __init__(self, here: Here, rows: Sequence[Row], texts: Sequence[str]) -> None:
        self.here, self.rows, self.texts = here, rows, texts
        self.judged: Judged | None = None

    def result(self) -> Judged:
        if self.judged is None:
            self.here.judge_all()
        assert self.judged is not None
        return self.judged


class Threads:
    """Judges jobs side by side in threads."""

    def __init__(self, reward: Reward, *, threads: int = 16) -> None:
        self.reward = reward
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"reward {reward_name(reward)}")

    def submit(self, rows: Sequence[Row], texts: Sequence[str]) -> "Future[Judged]":
        """Judge these, beside what else is judged."""
        return self._threads.submit(_judge, self.reward, rows, texts)

    def close(self) -> None:
        """What has not begun is left."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        close: Any = getattr(self.reward, "close", None)
        if close is not None:
            close()


def _judge(reward: Reward, rows: Sequence[Row], texts: Sequence[str]) -> Judged:
    began = time.monotonic()
    found = score_batch(reward, rows, texts, on_error="unjudged")
    return Judged(found, time.monotonic() - began, 0.0)
