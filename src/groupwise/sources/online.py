"""Prompts, sampled by the current policy and scored by a reward."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from groupwise.candidates import Completion, Group
from groupwise.clock import phase
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
        self,
        prompts: Sequence[tuple[int, ...]],
        sampling: Sampling,
        *,
        seeds: Sequence[int],
        done: Callable[[int, tuple[Completion, ...]], object] | None = None,
    ) -> list[tuple[Completion, ...]]:
        """`sampling.k` completions of each prompt; `done` is told of each as soon as it has its last one."""
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


class Pending(Protocol):
    """Judgements that may not be there yet."""

    def result(self) -> list[Judgement]:
        """Wait for them."""
        ...


class Judge(Protocol):
    """Judges the candidates of a prompt while others are sampled."""

    def submit(self, row: Mapping[str, Any], texts: Sequence[str]) -> Pending:
        """Begin to judge these."""
        ...

    def measured(self) -> dict[str, float]:
        """What judging took since the last call, as a run's metrics."""
        ...


class OnlineSource:
    """`groups_per_step` prompts a step, each with `sampling.k` candidates of the current policy, scored.

    A candidate's seed is a function of (seed, step, place in the step, number of the candidate): any rollout
    can be drawn again alone. With `peers` each rank samples its share and gives it to all.
    """

    def __init__(
        self,
        prompts: Sequence[PromptRow],
        engine: Engine,
        judge: Judge,
        *,
        sampling: Sampling,
        groups_per_step: int,
        seed: int = 0,
        peers: Peers | None = None,
    ) -> None:
        if not prompts:
            raise DataError("the data set holds no prompts: nothing to sample from")
        self.prompts, self.engine, self.judge = prompts, engine, judge
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
        pending: dict[int, Pending] = {}

        def done(i: int, found: Sequence[Completion]) -> None:
            pending[i] = self.judge.submit(rows[i].row, [completion.text for completion in found])

        sampled = self.engine.generate([row.prompt_ids for row in rows], self.sampling, seeds=seeds, done=done)
        with phase("score"):
            judged = [pending[i].result() for i in range(len(mine))]
        scored = [(place, self._scored(rows[i], sampled[i], judged[i])) for i, (place, _) in enumerate(mine)]
        everyone = scored if self.peers is None else self.peers.gather(scored)
        return [group for _, group in sorted(everyone, key=lambda item: item[0])]

    def measured(self) -> dict[str, float]:
        """What the judge measured of itself since the last call."""
        return self.judge.measured()

    def _scored(self, row: PromptRow, sampled: Sequence[Completion], judged: Sequence[Judgement]) -> Group:
        return Group(
            prompt_ids=row.prompt_ids,
            prompt=row.prompt,
            row=row.row,
            origin=row.origin,
            completions=tuple(map(self._judged, sampled, judged)),
        )

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
            unjudged=judgement.error or judgement.lost,
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
