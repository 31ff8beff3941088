"""The gradient of a micro-batch: in one pass, or piece by piece where a group is larger than the budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from groupwise.candidates import Loss, Objective
from groupwise.clock import phase
from groupwise.data.batch import Batch, micro_batches, pieces
from groupwise.models.trained import Reader


@dataclass(frozen=True, slots=True)
class Portion:
    """What is read at a time: a micro-batch, and its rows in pieces that fit the budget."""

    batch: Batch
    pieces: Sequence[Sequence[int]]
    passes: int  # as many on every rank, whose forward passes wait for each other


def portions(batch: Batch, objective: Objective, max_tokens: int) -> list[Portion]:
    """The step's micro-batches, without the rows that get no gradient.

    A group over `max_tokens` is split if its rows' losses are their own, else it is to be read in pieces.
    """
    moving = (~objective.still(batch.candidates)).nonzero()[:, 0].tolist()
    if len(moving) < len(batch.responses):
        batch = batch.rows(moving)
    parts = list(micro_batches(batch, max_tokens, split=objective.rowwise))
    rows = [pieces(part, max_tokens) for part in parts]
    passes = max(map(len, rows), default=1)
    return [Portion(part, of, passes) for part, of in zip(parts, rows, strict=True)]


def backward(
    policy: Reader, objective: Objective, portion: Portion, *, check: Callable[[Loss], None], times: float = 1.0
) -> tuple[Tensor, Loss]:
    """Add `times` the gradient of the portion's loss to the parameters'; `check` sees the loss before.

    Returns what the policy said of the tokens, with the gradient in it, and the loss.
    """
    if portion.passes > 1:
        return _piece_by_piece(policy, objective, portion, check=check, times=times)
    with phase("forward"):
        candidates = policy.read(portion.batch, objective.needs)
        learned: Tensor = getattr(candidates, policy.learned)
        learned.retain_grad()
        out = objective(candidates)
    check(out)
    with phase("backward"):
        (out.loss * times).backward()  # type: ignore[no-untyped-call]
        policy.count(portion.batch, backward=True)
    return learned, out


def _piece_by_piece(
    policy: Reader, objective: Objective, portion: Portion, *, check: Callable[[Loss], None], times: float
) -> tuple[Tensor, Loss]:
    """The same, one piece in memory at a time, for a forward pass more.

    The log-probabilities of all rows are computed without gradient, and the loss's gradient in them is taken: the push
    w[i, t] on each token. Then each piece is computed again: by the chain rule the sum of w logp has the loss's
    gradient in the parameters, whatever the objective.
    """
    order = [n for rows in portion.pieces for n in rows]
    parts = [portion.batch.rows(rows) for rows in portion.pieces]
    parts += parts[-1:] * (portion.passes - len(parts))  # for the other ranks' sake
    with phase("forward"), torch.no_grad():
        read = [policy.read(part, objective.needs) for part in parts]
    said: dict[str, Any] = {}
    for name in ("logp", "value"):
        found = [getattr(candidates, name) for candidates in read[: len(portion.pieces)]]
        if found[0] is not None:
            together = torch.cat(found)
            place = torch.tensor(order, device=together.device)
            said[name] = torch.empty_like(together).index_copy(0, place, together).requires_grad_()
    out = objective(replace(portion.batch.candidates, **said))
    check(out)
    (out.loss * times).backward()  # type: ignore[no-untyped-call]
    pushes = {name: value.grad for name, value in said.items() if value.grad is not None}
    for i, part in enumerate(parts):
        rows = list(portion.pieces[min(i, len(portion.pieces) - 1)])
        with phase("forward"):
            candidates = policy.read(part, objective.needs)
            push = torch.stack([(getattr(candidates, name) * w[rows]).sum() for name, w in pushes.items()]).sum()
        with phase("backward"):
            (push * (i < len(portion.pieces))).backward()  # type: ignore[no-untyped-call]
            policy.count(part, backward=True)
    learned: Tensor = said[policy.learned]
    return learned, out
