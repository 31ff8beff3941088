"""A reward as a run uses it: behind its contract, in worker processes, with limits, counted, and cached."""

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from groupwise.errors import ConfigError
from groupwise.rewards.call import Judgement, OnError, Row, failure, is_async
from groupwise.rewards.combine import Combine
from groupwise.rewards.here import Here, Jobs, Result, Threads
from groupwise.rewards.load import REWARDS, find_reward, load_reward
from groupwise.rewards.pool import Pool, Setup

Key = tuple[str, str]  # a row and a text


@dataclass(frozen=True, kw_only=True, slots=True)
class HarnessConfig:
    """How rewards are run, whichever they are."""

    workers: int | Literal["ray"] | None = None  # processes that judge; null: one a core, up to 8; 0: none, no limits
    timeout_s: float = 10.0  # of one judgement, from when it begins; what takes longer could not be judged
    timeout_score: float | None = None  # the score of what could not be judged within the limits; null: none
    memory_mb: int | None = 4096  # of data in a worker; null: no limit
    cache: int = 100_000  # judgements kept of a reward that says it is deterministic
    check: Literal["stop", "warn", "off"] = "stop"  # when right answers score no better than those of other rows

    def __post_init__(self) -> None:
        if not (self.workers in (None, "ray") or (isinstance(self.workers, int) and self.workers >= 0)):
            raise ConfigError(f"rewards.workers = {self.workers!r}, must be 0 or more, `ray`, or null for one a core")
        if not self.timeout_s > 0:
            raise ConfigError(f"rewards.timeout_s = {self.timeout_s}, must be above 0")
        if self.memory_mb is not None and not self.memory_mb >= 256:
            raise ConfigError(f"rewards.memory_mb = {self.memory_mb}, must be 256 or more, or null for no limit")
        if not self.cache >= 0:
            raise ConfigError(f"rewards.cache = {self.cache}, must be 0 or more")


@dataclass(slots=True)
class Counts:
    """What judging took since it was last asked for."""

    judged: int = 0
    unjudged: int = 0
    lost: int = 0  # of the unjudged: those that met a limit
    cached: int = 0
    seconds: float = 0.0  # of all workers
    waited: float = 0.0  # the longest time that a job waited for a worker


class Harness:
    """Judges groups with one reward, each as soon as it is there: `submit(row, texts).result()`.

    A plain reward judges each text in a job of its own, with a limit of its own; a batched, grouped or async one
    judges a group in one job. A reward with `in_process = True` is called in this process instead: with
    `overlaps = True` (it waits for others, and has limits of its own) in threads, else when results are asked for.
    """

    def __init__(
        self, name: str, settings: Mapping[str, Any], *, config: HarnessConfig, on_error: OnError = "stop"
    ) -> None:
        self.name, self.config, self.on_error = name, config, on_error
        self.counts = Counts()
        self.reward: Any = load_reward(name, **settings) if name in REWARDS else find_reward(name, settings)
        self.whole = any(self.has(trait) for trait in ("grouped", "batched")) or is_async(self.reward)
        self._known: OrderedDict[Key, Judgement] = OrderedDict()
        if self.has("in_process") or config.workers == 0:
            self.reward = self.reward if name in REWARDS else load_reward(name, **settings)
            self._jobs: Jobs = Threads(self.reward) if self.has("overlaps") else Here(self.reward)
        else:
            setup = Setup(name=name, settings=settings, timeout_s=config.timeout_s, memory_mb=config.memory_mb)
            self._jobs = _jobs(setup, config.workers)

    def has(self, trait: str) -> bool:
        """Whether the reward says this of itself."""
        return getattr(self.reward, trait, False) is True

    def __call__(self, rows: Sequence[Row], texts: Sequence[str]) -> list[Judgement]:
        """Judge text i as an answer to row i; neighbours with one and the same row are a group."""
        return judge_groups(self, rows, texts)

    def submit(self, row: Row, texts: Sequence[str]) -> "Pending":
        """Begin to judge the candidates of one prompt."""
        return Pending(self, row, texts)

    def start(self, row: Row, texts: Sequence[str]) -> list[Result]:
        """Jobs for these texts, in order."""
        parts = [texts] if self.whole else [[text] for text in texts]
        return [self._jobs.submit([row] * len(part), part) for part in parts if part]

    def measured(self) -> dict[str, float]:
        """What judging took since the last call, as a run's metrics; and what the reward itself counts, as calls."""
        counts, self.counts = self.counts, Counts()
        usage: Mapping[str, float] = getattr(self.reward, "usage", None) or {}
        return {
            "reward/seconds": counts.seconds,
            "reward/waited": counts.waited,
            "reward/lost": float(counts.lost),
            "reward/cached": float(counts.cached),
            **{f"reward/total_{name}": float(value) for name, value in usage.items()},
        }

    def known(self, row: Row, text: str) -> Judgement | None:
        """The judgement of an equal text on an equal row, if the reward is deterministic."""
        if not self.has("deterministic"):
            return None
        return self._known.get((repr(row), text))

    def note(self, row: Row, text: str, judgement: Judgement) -> Judgement:
        """Count a judgement, keep it where it may be used again, and hold it to the policy on failures."""
        if judgement.error and self.on_error == "stop":
            raise failure(judgement, row, text)
        if judgement.lost and self.config.timeout_score is not None:
            judgement = Judgement(score=self.config.timeout_score, parts={"lost": 1.0})
        self.counts.judged += judgement.score is not None
        self.counts.unjudged += judgement.score is None
        self.counts.lost += bool(judgement.lost)
        if self.has("deterministic") and self.config.cache and judgement.score is not None and not judgement.lost:
            self._known[repr(row), text] = judgement
            if len(self._known) > self.config.cache:
                self._known.popitem(last=False)
        return judgement

    def close(self) -> None:
        """End what judges."""
        self._jobs.close()


class Pending:
    """The judgements of one group, which may not be there yet."""

    def __init__(self, harness: Harness, row: Row, texts: Sequence[str]) -> None:
        self.harness, self.row, self.texts = harness, row, texts
        self.known = {text: found for text in texts if (found := harness.known(row, text)) is not None}
        self.asked = [text for text in texts if text not in self.known]
        if harness.has("deterministic") and not harness.has("grouped"):
            self.asked = list(dict.fromkeys(self.asked))  # equal texts are judged once
        self.parts = harness.start(row, self.asked)

    def result(self) -> list[Judgement]:
        """Wait for them. Raises RewardError for one that failed, unless the run is to go on."""
        counts = self.harness.counts
        found: dict[str, list[Judgement]] = {}
        done = [part.result() for part in self.parts]
        judgements = iter([judgement for judged in done for judgement in judged.judgements])
        for text in self.asked:
            found.setdefault(text, []).append(self.harness.note(self.row, text, next(judgements)))
        counts.seconds += sum(judged.seconds for judged in done)
        counts.waited = max([counts.waited, *(judged.waited for judged in done)])
        counts.cached += len(self.texts) - len(self.asked)
        return [self._of(text, found) for text in self.texts]

    def _of(self, text: str, found: Mapping[str, list[Judgement]]) -> Judgement:
        if text in self.known:
            return self.known[text]
        mine = found[text]
        return mine.pop(0) if len(mine) > 1 else mine[0]


def _jobs(setup: Setup, workers: int | Literal["ray"] | None) -> Jobs:
    if workers == "ray":
        from groupwise.rewards.on_ray import ray_pool

        return ray_pool(setup)
    return Pool(setup, workers=workers or min(8, os.cpu_count() or 1))


class CombinedHarness:
    """`combine`: a harness for each part, with workers and limits as that reward asks for, and one score of all."""

    def __init__(self, settings: Mapping[str, Any], *, config: HarnessConfig, on_error: OnError = "stop") -> None:
        self.reward, self.on_error = cast(Combine, load_reward("combine", **settings)), on_error
        self.parts = [
            Harness(part.name, part.settings, config=config, on_error=on_error) for part in self.reward.build()
        ]

    def __call__(self, rows: Sequence[Row], texts: Sequence[str]) -> list[Judgement]:
        """Judge text i as an answer to row i; neighbours with one and the same row are a group."""
        return judge_groups(self, rows, texts)

    def submit(self, row: Row, texts: Sequence[str]) -> "PendingParts":
        """Begin to judge the candidates of one prompt."""
        return PendingParts(self, row, texts, [part.submit(row, texts) for part in self.parts])

    def measured(self) -> dict[str, float]:
        """What judging took since the last call: of all parts, and of each."""
        found: dict[str, float] = {}
        for part, of in zip(self.reward.build(), self.parts, strict=True):
            for name, value in of.measured().items():
                found[name] = (
                    max(found.get(name, 0.0), value) if name == "reward/waited" else found.get(name, 0.0) + value
                )
                if name == "reward/seconds":
                    found[f"reward/seconds_{part.called}"] = value
        return found

    def close(self) -> None:
        """End what judges."""
        for part in self.parts:
            part.close()


@dataclass(frozen=True, slots=True)
class PendingParts:
    """The judgements of one group by each part."""

    harness: CombinedHarness
    row: Row
    texts: Sequence[str]
    parts: Sequence[Pending]

    def result(self) -> list[Judgement]:
        """Wait for them. Raises RewardError for one that failed, unless the run is to go on."""
        found = self.harness.reward.merge([part.result() for part in self.parts]) if self.texts else []
        for text, judgement in zip(self.texts, found, strict=True):
            if judgement.error and self.harness.on_error == "stop":
                raise failure(judgement, self.row, text)
        return found


Judge = Harness | CombinedHarness


def make_judge(
    name: str, settings: Mapping[str, Any], *, config: HarnessConfig | None = None, on_error: OnError = "stop"
) -> Judge:
    """What judges with the reward of this name, as `load_reward` takes it."""
    config = config or HarnessConfig()
    if name == "combine":
        return CombinedHarness(settings, config=config, on_error=on_error)
    return Harness(name, settings, config=config, on_error=on_error)


def judge_groups(judge: Judge, rows: Sequence[Row], texts: Sequence[str]) -> list[Judgement]:
    """Judge text i as an answer to row i; neighbours with one and the same row are a group."""
    starts = [i for i in range(len(rows)) if i == 0 or rows[i] is not rows[i - 1]]
    ends = [*starts[1:], len(rows)]
    groups = [judge.submit(rows[i], texts[i:j]) for i, j in zip(starts, ends, strict=True)]
    return [judgement for pending in groups for judgement in pending.result()]
