"""Groups to tensors, and a step's batch to micro-batches of whole groups under a token budget.

Legend: G prompts, N rows (completions that can be trained on), T response tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from groupwise.candidates import Candidates, Group
from groupwise.errors import DataError


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """G prompts and their N rows: token ids as sampled, and the tensors an objective reads.

    Rows stand in the order of their prompts. `source[n] = (g, k)` is the group and the completion that
    row n came from, in the list given to `collate`.
    """

    prompts: tuple[tuple[int, ...], ...]
    responses: tuple[tuple[int, ...], ...]
    prompt_of: tuple[int, ...]
    source: tuple[tuple[int, int], ...]
    candidates: Candidates

    @property
    def tokens(self) -> int:
        """Tokens of a forward pass with each prompt computed once."""
        return sum(map(len, self.prompts)) + sum(map(len, self.responses))

    def with_mismatched(self) -> "Batch":
        """The same rows, and for each one more: its prompt with the answer of the next prompt (KTO's z0).

        Matched and mismatched rows hold the same answers where each prompt has as many. DataError for one prompt.
        """
        if len(self.prompts) < 2:
            raise DataError(
                "an answer is compared with those to other prompts, and this step has one prompt: "
                "set train.groups_per_step to 2 or more"
            )
        rows_of: list[list[int]] = [[] for _ in self.prompts]
        for n, g in enumerate(self.prompt_of):
            rows_of[g].append(n)
        mine, others = [], []  # each row, and the one whose answer is put under its prompt
        for g, rows in enumerate(rows_of):
            following = rows_of[(g + 1) % len(rows_of)]
            mine += rows
            others += [following[place % len(following)] for place in range(len(rows))]
        c = self.candidates
        count = len(mine)
        added: dict[str, Any] = {"mismatched": torch.arange(2 * count, device=c.mask.device) >= count}
        doubled: dict[str, Any] = {
            f.name: torch.cat([value[mine], value[others if value.ndim == 2 else mine]])
            for f in fields(c)
            if isinstance(value := getattr(c, f.name), torch.Tensor)
        }
        return Batch(
            prompts=self.prompts,
            responses=tuple(self.responses[n] for n in [*mine, *others]),
            prompt_of=tuple(self.prompt_of[n] for n in [*mine, *mine]),
            source=(*(self.source[n] for n in mine), *((g, ~k) for g, k in (self.source[n] for n in mine))),
            candidates=replace(c, **(doubled | added)),
        )

    def matched(self) -> "Batch":
        """Without the rows of `with_mismatched`, which only `prepare` reads; divided by the step's totals as before."""
        mismatched = self.candidates.mismatched
        if mismatched is None:
            return self
        rows = (~mismatched).nonzero()[:, 0].tolist()
        return Batch(
            prompts=self.prompts,
            responses=tuple(self.responses[n] for n in rows),
            prompt_of=tuple(self.prompt_of[n] for n in rows),
            source=tuple(self.source[n] for n in rows),
            candidates=replace(self.candidates.rows(rows), mismatched=None),
        )

    def rows(self, rows: Sequence[int]) -> "Batch":
        """These rows with their prompts, divided by the whole step's totals. Rows of a prompt must be neighbours."""
        prompts = list(dict.fromkeys(self.prompt_of[n] for n in rows))
        place = {g: i for i, g in enumerate(prompts)}
        return Batch(
            prompts=tuple(self.prompts[g] for g in prompts),
            responses=tuple(self.responses[n] for n in rows),
            prompt_of=tuple(place[self.prompt_of[n]] for n in rows),
            source=tuple(self.source[n] for n in rows),
            candidates=self.candidates.rows(rows),
        )


def collate(groups: Sequence[Group], *, device: torch.device | str = "cpu") -> Batch:
    """Groups as one step's batch. Unjudged completions (score None) are left out; the caller counts them.

    `candidates.logp` is NaN until the policy fills it in.
    """
    prompts: list[tuple[int, ...]] = []
    responses: list[tuple[int, ...]] = []
    prompt_of: list[int] = []
    source: list[tuple[int, int]] = []
    trained: list[tuple[bool, ...]] = []
    scores: list[float] = []
    confidences: list[float | None] = []
    for g, group in enumerate(groups):
        judged = [k for k, completion in enumerate(group.completions) if completion.score is not None]
        if not judged:
            continue
        if not group.prompt_ids:
            raise DataError(
                f"{group.origin or 'a group'}: the prompt has no tokens; a response needs at least one to follow"
            )
        for k in judged:
            completion = group.completions[k]
            if not completion.token_ids:
                raise DataError(f"{group.origin or 'a group'}: completion {k} has no tokens")
            responses.append(completion.token_ids)
            prompt_of.append(len(prompts))
            source.append((g, k))
            trained.append(completion.trained or (True,) * len(completion.token_ids))
            scores.append(float(completion.score))  # type: ignore[arg-type]  # judged
            confidences.append(completion.confidence)
        prompts.append(group.prompt_ids)
    width = max(map(len, responses), default=0)
    padded = [[*row, *([False] * (width - len(row)))] for row in trained]
    mask = torch.tensor(padded, dtype=torch.bool).reshape(len(responses), width)
    steps = [groups[g].completions[k].steps for g, k in source]
    candidates = Candidates(
        logp=torch.full(mask.shape, torch.nan, device=device),
        token_score=_token_score(steps, width).to(device) if any(steps) else None,
        mask=mask.to(device),
        group=torch.tensor(prompt_of, dtype=torch.long, device=device),
        score=torch.tensor(scores, dtype=torch.float32, device=device),
        confidence=_confidence(confidences, device),
    )
    return Batch(
        prompts=tuple(prompts),
        responses=tuple(responses),
        prompt_of=tuple(prompt_of),
        source=tuple(source),
        candidates=candidates,
    )


def _token_score(steps: Sequence[Sequence[tuple[int, float]]], width: int) -> torch.Tensor:
    """Each step's reward at its last token, NaN elsewhere."""
    found = torch.full((len(steps), width), torch.nan)
    for n, of_row in enumerate(steps):
        for end, reward in of_row:
            found[n, end] = reward
    return found


def _confidence(given: Sequence[float | None], device: torch.device | str) -> torch.Tensor | None:
    """As a tensor, certain where a row says nothing; None where no row says anything."""
    if all(confidence is None for confidence in given):
        return None
    certain = [1.0 if confidence is None else confidence for confidence in given]
    return torch.tensor(certain, dtype=torch.float32, device=device)


def micro_batches(batch: Batch, max_tokens: int, *, split: bool = False) -> Iterator[Batch]:
    """Whole groups packed under `max_tokens`, the largest first.

    A group over the budget goes alone; with `split` in pieces under it, a row at least, each with the prompt.
    """
    whole = replace(batch, candidates=batch.candidates.whole_step())
    rows_of: list[list[int]] = [[] for _ in batch.prompts]
    for n, g in enumerate(batch.prompt_of):
        rows_of[g].append(n)
    size = [len(p) + sum(len(batch.responses[n]) for n in rows) for p, rows in zip(batch.prompts, rows_of, strict=True)]
    taken: list[int] = []
    used = 0
    for g in sorted(range(len(size)), key=lambda g: (-size[g], g)):
        if split and size[g] > max_tokens:
            yield from (whole.rows(piece) for piece in pieces(batch, max_tokens, rows_of[g]))
            continue
        if taken and used + size[g] > max_tokens:
            yield whole.rows(taken)
            taken, used = [], 0
        taken += rows_of[g]
        used += size[g]
    if taken:
        yield whole.rows(taken)


def pieces(batch: Batch, max_tokens: int, rows: Sequence[int] | None = None) -> list[list[int]]:
    """The rows in portions that stay under `max_tokens` with their prompts, a row at least in each."""
    found: list[list[int]] = []
    room = 0
    for n in range(len(batch.responses)) if rows is None else rows:
        prompt, response = len(batch.prompts[batch.prompt_of[n]]), len(batch.responses[n])
        follows = bool(found) and batch.prompt_of[found[-1][-1]] == batch.prompt_of[n]
        needed = response if follows else prompt + response
        if not found or needed > room:
            found.append([])
            room, needed = max_tokens, prompt + response
        found[-1].append(n)
        room -= needed
    return found
