"""The training loop. It knows no method and no source."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from groupwise import clock
from groupwise.candidates import Group, Loss, Objective, why_unjudged
from groupwise.clock import phase
from groupwise.data.batch import Batch, collate
from groupwise.errors import ConfigError, TrainingError
from groupwise.models.annotate import annotate
from groupwise.models.reference import Reference
from groupwise.models.trained import Reader
from groupwise.runs.write import Run
from groupwise.train.budget import Budget
from groupwise.train.distributed import this_world
from groupwise.train.gradient import backward, portions
from groupwise.train.limit import tokens_at_a_time
from groupwise.train.optim import Optimizer
from groupwise.train.report import Stats, StepReport, report_step
from groupwise.train.resume import load_checkpoint, save_checkpoint
from groupwise.train.source import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """How long and in what portions to train."""

    steps: int  # batches to learn from
    tokens: int | None = None  # stop before that, after the step that reaches so many computed tokens; null: never
    groups_per_step: int = 8  # groups of a batch: the means of a step run over all of them
    epochs: int = 1  # optimizer steps on each batch; above 1 the old log-probabilities are computed first
    max_tokens: int | None = None  # read at a time, prompts counted once; null: what fits; never changes the gradient
    max_grad_norm: float | None = 1.0  # gradients are scaled down to this 2-norm; null: never
    seed: int = 0  # of everything drawn at random
    save_every: int = 100  # steps between checkpoints; the last step always makes one
    keep_checkpoints: int = 2  # the newest ones that stay

    def __post_init__(self) -> None:
        for name in ("steps", "groups_per_step", "epochs", "save_every", "keep_checkpoints"):
            if not getattr(self, name) >= 1:
                raise ConfigError(f"train.{name} = {getattr(self, name)}, must be 1 or more")
        if self.max_tokens is not None and not self.max_tokens >= 1:
            raise ConfigError(f"train.max_tokens = {self.max_tokens}, must be 1 or more, or null for what fits")
        if not 0 <= self.seed < 1 << 63:
            raise ConfigError(f"train.seed = {self.seed}, must be from 0 to 2^63 - 1")
        if self.tokens is not None and not self.tokens >= 1:
            raise ConfigError(f"train.tokens = {self.tokens}, must be 1 or more, or null for no limit")
        if self.max_grad_norm is not None and not self.max_grad_norm > 0:
            raise ConfigError(f"train.max_grad_norm = {self.max_grad_norm}, must be above 0, or null for no limit")


def train(
    policy: Reader,
    objective: Objective,
    *,
    source: Source,
    optimizer: Optimizer,
    run: Run,
    config: TrainConfig,
    reference: Reference | None = None,
) -> Iterator[StepReport]:
    """Train from `run.step` to `config.steps`, one report a step. A run with a checkpoint goes on from it, exactly.

    Raises TrainingError before the optimizer step if a loss or gradient is not finite, naming the rows.
    """
    world = this_world()
    objective = load_checkpoint(run, policy, optimizer, source, objective=objective, reference=reference)
    budget = Budget.of(run, steps=config.steps, tokens=config.tokens)
    max_tokens = tokens_at_a_time(run, config.max_tokens, policy, objective.needs)
    for step in budget.steps_left(run.step):
        clock.take()  # what was done between steps is not theirs
        groups = source.take(step, policy)  # scored candidates
        measured = source.measured()
        batch = _batch(groups, policy, step)
        moves = config.epochs > 1
        batch = annotate(
            batch, objective.needs, policy, reference=reference, moves=moves, max_tokens=max_tokens
        )  # reference, old log-probabilities, values
        batch = replace(batch, candidates=objective.prepare(batch.candidates)).matched()  # scores -> weights
        steps = budget.spend(step, batch.tokens)
        for _ in range(config.epochs):
            stats = Stats(len(batch.responses))
            for portion, counts in world.share(portions(batch, objective, max_tokens)):
                check = partial(_check_loss, micro=portion.batch, groups=groups, step=step)
                times = world.size if counts else 0
                learned, out = backward(policy, objective, portion, check=check, times=times)
                if counts:
                    stats.add(portion.batch, learned, out)
            with phase("optimizer"):
                stats.grad_norm = optimizer.clip(config.max_grad_norm)
            if not math.isfinite(stats.grad_norm):
                raise TrainingError(_blame(policy, objective, batch, groups, step=step, optimizer=optimizer))
            if stats.grad_norm > 0:  # else there was nothing to learn, and momentum must not move the weights
                with phase("optimizer"):
                    stats.learning_rate = optimizer.step(step, steps)
            optimizer.zero()
        objective = objective.after_step(world.add(stats.means))
        if reference is not None:
            reference.after_step(step, policy)
        measured |= clock.take().metrics()
        yield report_step(run, step, groups, batch, stats=stats, measured=measured, last=step + 1 == steps)
        if (step + 1) % config.save_every == 0 or step + 1 == steps:
            save_checkpoint(run, step + 1, policy, optimizer, source, objective=objective, reference=reference)


def _batch(groups: Sequence[Group], policy: Reader, step: int) -> Batch:
    batch = collate(groups, device=policy.device)
    if not batch.responses:
        count = sum(len(group.completions) for group in groups)
        raise TrainingError(
            f"step {step}: none of the {count} completions could be judged, so there is nothing to learn from; "
            f"the first: {why_unjudged(groups)}"
        )
    return batch


def _check_loss(out: Loss, *, micro: Batch, groups: Sequence[Group], step: int) -> None:
    loss = out.loss if isinstance(out, Loss) else None  # a user's objective may return anything
    if not (isinstance(loss, Tensor) and loss.ndim == 0 and loss.requires_grad):
        raise TrainingError(
            f"step {step}: the objective returned {str(out)[:80]!r}, must return a Loss whose `loss` is a scalar "
            "tensor computed from `c.logp`"
        )
    if not math.isfinite(out.loss.item()):
        raise TrainingError(f"step {step}: the loss is {out.loss.item()} on {_rows(micro, groups)}; no step was taken")


def _rows(micro: Batch, groups: Sequence[Group]) -> str:
    names = [f"{groups[g].origin or f'group {g}'} completion {k}" for g, k in micro.source]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _blame(
    policy: Reader, objective: Objective, batch: Batch, groups: Sequence[Group], *, step: int, optimizer: Optimizer
) -> str:
    """Which rows made the gradient, or its norm, non-finite: bit by bit, as only a failing step can afford."""
    bad: list[str] = []
    for portion in portions(batch, objective, 1):
        optimizer.zero()
        backward(policy, objective, portion, check=lambda _: None)
        if not math.isfinite(optimizer.clip(None)):
            bad.append(_rows(portion.batch, groups))
    where = "; ".join(bad) or "their sum only: no part's gradient is non-finite"
    return f"step {step}: the gradient is not finite on {where}; no step was taken"
