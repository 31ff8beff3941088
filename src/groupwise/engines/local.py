"""Sampling in process, from the policy's own weights.

A prompt is computed once for all its candidates, finished rows leave the batch, and every candidate's
tokens are a function of its own seed: they do not depend on what else is being sampled.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from groupwise import clock
from groupwise.candidates import Completion, FinishReason
from groupwise.clock import phase
from groupwise.engines.caches import ModelCache, SharedPromptCache
from groupwise.engines.sampling import Sampling, draw, stable_seed
from groupwise.errors import ModelError
from groupwise.models.load import end_token_ids
from groupwise.models.policy import Policy

Done = Callable[[int, tuple[Completion, ...]], object]
LEAVE_AT = 0.85  # finished rows leave once this share or less is still running: a copy of the cache each time


@dataclass(slots=True)
class _Row:
    """A candidate being written."""

    prompt: int
    seed: int
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason = "length"
    text: str | None = None  # set where a stop string cut it


class LocalEngine:
    """The default engine: samples from a Policy in this process. Its weights are the policy's, always current."""

    def __init__(self, policy: Policy, *, max_rows: int = 512) -> None:
        self.policy, self.max_rows = policy, max_rows
        self.end_ids = end_token_ids(policy.model, policy.tokenizer)

    def load_weights(self, policy: Policy) -> None:
        """Sample from this policy from now on. A sharded one is copied into the engine's own, a collective."""
        if policy.sharded:
            self.policy.set_trained_state(policy.trained_state())
        else:
            self.policy = policy

    def generate(
        self, prompts: Sequence[tuple[int, ...]], sampling: Sampling, *, seeds: Sequence[int], done: Done | None = None
    ) -> list[tuple[Completion, ...]]:
        """`sampling.k` completions of each prompt; candidate j of prompt i depends on it, `seeds[i]` and j only.

        `done(i, completions)` is told of each prompt as soon as its last candidate ends, while others are written.
        """
        found: dict[int, tuple[Completion, ...]] = {}
        for wave in self._waves(prompts, sampling.k):
            rows = [_Row(i, stable_seed(seeds[i], j)) for i in wave for j in range(sampling.k)]
            with phase("decode"), torch.inference_mode(), self.policy.computing():
                for i in self._write([prompts[i] for i in wave], rows, sampling):
                    n = wave.index(i)
                    found[i] = tuple(map(self._completion, rows[n * sampling.k : (n + 1) * sampling.k]))
                    if done is not None:
                        done(i, found[i])
                written = [(len(prompts[row.prompt]), len(row.token_ids)) for row in rows]
                clock.count(sum(n for _, n in written), sum(self.policy.operations.decode(*size) for size in written))
        return [found[i] for i in range(len(prompts))]

    def _waves(self, prompts: Sequence[tuple[int, ...]], k: int) -> Iterator[list[int]]:
        """Prompts that run together: at most `max_rows` rows, of one length where prompts cannot be shared."""
        size = max(1, self.max_rows // k)
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        wave: list[int] = []
        for i in order:
            padded = wave and not self.policy.shares_prompts and len(prompts[i]) != len(prompts[wave[0]])
            if len(wave) == size or padded:
                yield wave
                wave = []
            wave.append(i)
        if wave:
            yield wave

    def _write(self, prompts: list[tuple[int, ...]], rows: list[_Row], sampling: Sampling) -> Iterator[int]:
        """Run one wave to its end, filling in the rows; gives each prompt when the last of its rows has ended."""
        kind = SharedPromptCache if self.policy.shares_prompts else ModelCache
        with phase("prefill"):
            cache = kind(self.policy, prompts, sampling.k)
            lengths = [len(prompt) for prompt in prompts]
            clock.count(sum(lengths), self.policy.operations.prefill(lengths))
        device = self.policy.device
        seed = torch.tensor([row.seed for row in rows], device=device)
        alive = list(range(len(rows)))  # the row that stands at each place of the batch
        running = [True] * len(rows)  # by place
        left = Counter(row.prompt for row in rows)  # that are still being written
        logits = cache.logits
        for t in range(sampling.max_new_tokens):
            token, logprob = draw(logits, seed, t, sampling)
            if not torch.isfinite(logprob).all():
                raise ModelError(
                    "the model's logits are NaN or infinite: training diverged or its precision is too low"
                )
            for place, (i, lp) in enumerate(zip(token.tolist(), logprob.tolist(), strict=True)):
                if running[place]:
                    rows[alive[place]].token_ids.append(i)
                    rows[alive[place]].logprobs.append(lp)
                    running[place] = not self._ended(rows[alive[place]], sampling)
                    if not running[place] or t + 1 == sampling.max_new_tokens:
                        left[rows[alive[place]].prompt] -= 1
                        if not left[rows[alive[place]].prompt]:
                            yield rows[alive[place]].prompt
            count = sum(running)
            if not count or t + 1 == sampling.max_new_tokens:
                return
            if count <= LEAVE_AT * len(running):
                stay = torch.tensor([p for p, runs in enumerate(running) if runs], device=device)
                alive, running = [alive[p] for p in stay.tolist()], [True] * count
                token, seed = token[stay], seed[stay]
                cache.keep(stay)
            logits = cache.step(token)

    def _ended(self, row: _Row, sampling: Sampling) -> bool:
        if row.token_ids[-1] in self.end_ids:
            row.finish_reason = "stop"
            return True
        if not sampling.stop:
            return False
        text = self._text(row.token_ids)
        found = [text.index(stop) for stop in sampling.stop if stop in text]
        if found:
            row.finish_reason, row.text = "stop_string", text[: min(found)]
        return bool(found)

    def _completion(self, row: _Row) -> Completion:
        return Completion(
            token_ids=tuple(row.token_ids),
            text=self._text(row.token_ids) if row.text is None else row.text,
            logprobs=tuple(row.logprobs),
            finish_reason=row.finish_reason,
        )

    def _text(self, token_ids: list[int]) -> str:
        text: str = self.policy.tokenizer.decode(token_ids, skip_special_tokens=True)
        return text
