"""Prompts, sampled by the current policy and scored by a reward."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from groupwise.candidates import Completion, Group
from groupwise.data.prompts import PromptRow
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.errors import DataError
from groupwise.models.policy import Policy
from groupwise.models.trained import Reader
from groupwise.rewards.call import Judgement
from groupwise.sources.order import rows_of_step


class Engine(Protocol):
    """Draws completions from a policy."""

    def generate(
        self, prompts: Sequence[tuple[int, ...]], sampling: Sampling, *, seeds: Sequence[int]
    ) -> list[tuple[Completion, ...]]:
        """`sampling.k` completions of each prompt."""
        ...

    def load_weights(self, policy: Policy) -> None:
        """Sample from this policy's current weights."""
        ...


class Peers(Protocol):
    """The ranks that sample together."""

    @property
    def rank(self) -> int:
        """This rank's number."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def gather(self, mine: list[Any]) -> list[Any]:
        """The lists of all ranks, one after the other."""
        ...


Scorer = Callable[[Sequence[Mapping[str, Any]], Sequence[str]], list[Judgement]]
"""(rows, texts) -> a judgement of each text as an answer to its row."""


class OnlineSource:
    """`groups_per_step` prompts a step, each with `sampling.k` candidates of the current policy, scored.

    A candidate's seed is a function of (seed, step, place in the step, number of the candidate): any rollout
    can be drawn again alone. With `peers` each rank samples its share and gives it to all.
    """

    def __init__(
        self,
        prompts: Sequence[PromptRow],
        engine: Engine,
        scorer: Scorer,
        *,
        sampling: Sampling,
        groups_per_step: int,
        seed: int = 0,
        peers: Peers | None = None,
    ) -> None:
        if not prompts:
            raise DataError("the data set holds no prompts: nothing to sample from")
        self.prompts, self.engine, self.scorer = prompts, engine, scorer
        self.sampling, self.groups_per_step, self.seed = sampling, groups_per_step, seed
        self.peers = peers
        self.tokenizer: Any = None  # the policy's

    def take(self, step: int, policy: Reader) -> list[Group]:
        """Sample and score the groups of this step."""
        numbers = rows_of_step(step, size=len(self.prompts), count=self.groups_per_step, seed=self.seed)
        mine = list(enumerate(numbers))
        if self.peers is not None:
            mine = mine[self.peers.rank :: self.peers.size]
        assert isinstance(policy, Policy), "only a language model can be sampled from"
        self.tokenizer = policy.tokenizer
        self.engine.load_weights(policy)
        rows = [self.prompts[i] for _, i in mine]
        seeds = [stable_seed(self.seed, step, place) for place, _ in mine]
        sampled = self.engine.generate([row.prompt_ids for row in rows], self.sampling, seeds=seeds)
        scored = list(zip([place for place, _ in mine], self._scored(rows, sampled), strict=True))
        everyone = scored if self.peers is None else self.peers.gather(scored)
        return [group for _, group in sorted(everyone, key=lambda item: item[0])]

    def _scored(self, rows: Sequence[PromptRow], sampled: Sequence[Sequence[Completion]]) -> list[Group]:
        """All completions judged in one go."""
        data_rows = [row.row for row, found in zip(rows, sampled, strict=True) for _ in found]
        judged = iter(self.scorer(data_rows, [completion.text for found in sampled for completion in found]))
        return [
            Group(
                prompt_ids=row.prompt_ids,
                prompt=row.prompt,
                row=row.row,
                origin=row.origin,
                completions=tuple(self._judged(completion, next(judged)) for completion in found),
            )
            for row, found in zip(rows, sampled, strict=True)
        ]

    def _judged(self, completion: Completion, judgement: Judgement) -> Completion:
        steps: dict[int, float] = {}
        for end, reward in judgement.steps:
            token = self._token_at(completion, end)
            steps[token] = steps.get(token, 0.0) + reward  # of steps that end within one token, the sum
        return replace(
            completion,
            score=judgement.score,
            score_parts=judgement.parts,
            steps=tuple(steps.items()),
            unjudged=judgement.error,
        )

    def _token_at(self, completion: Completion, end: int) -> int:
        """The first token with which the text is at least `end` characters long; the last one if it never is."""
        ids = completion.token_ids
        lengths = range(len(ids) - 1)
        return bisect_left(
            lengths, end, key=lambda t: len(self.tokenizer.decode(ids[: t + 1], skip_special_tokens=True))
        )

    def state_dict(self) -> dict[str, Any]:
        """Nothing: the step says it all."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""
