"""What a step leaves behind: measurements, its groups with the push each token got, and warnings with their cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from groupwise.candidates import Completion, Group, Loss, Mean, why_unjudged
from groupwise.data.batch import Batch
from groupwise.functional.groups import has_signal
from groupwise.runs.schema import CompletionRecord, GroupRecord
from groupwise.runs.write import Run
from groupwise.train.distributed import this_world


@dataclass(frozen=True, slots=True)
class StepReport:
    """What `train` yields after each step."""

    step: int
    metrics: Mapping[str, float]  # as written to metrics.jsonl
    groups: Sequence[Group]
    last: bool  # whether the run ends with it


@dataclass
class Stats:
    """Sums over the micro-batches of one optimizer step."""

    rows: int
    loss: float = 0.0
    grad_norm: float = 0.0
    learning_rate: float = 0.0
    means: dict[str, Mean] = field(default_factory=dict)
    weights: dict[tuple[int, int], list[float]] = field(default_factory=dict)  # (group, completion) -> -dL/dlogp

    def add(self, micro: Batch, logp: Tensor, out: Loss) -> None:
        """After the backward pass of a micro-batch; `logp` retains its gradient."""
        world = this_world()
        self.loss += out.loss.item()
        for name, mean in out.stats.items():
            self.means[name] = self.means[name] + mean if name in self.means else mean
        pushes = (logp if logp.grad is None else -logp.grad / world.size).tolist()
        if logp.grad is None:
            pushes = (logp.detach() * 0).tolist()
        for source, push, response in zip(micro.source, pushes, micro.responses, strict=True):
            self.weights[source] = [float(f"{value:.4g}") for value in push[: len(response)]]

    def over_ranks(self) -> "Stats":
        """The same for the whole step, on every rank."""
        world = this_world()
        if world.size == 1:
            return self
        return Stats(
            rows=self.rows,
            loss=sum(world.gather([self.loss])),
            grad_norm=self.grad_norm,
            learning_rate=self.learning_rate,
            means=world.add(self.means),
            weights=dict(world.gather(list(self.weights.items()))),
        )


def report_step(
    run: Run,
    step: int,
    groups: Sequence[Group],
    batch: Batch,
    *,
    stats: Stats,
    measured: Mapping[str, float],
    last: bool,
) -> StepReport:
    """Write a step's lines to the run directory, and return its measurements."""
    stats = stats.over_ranks()
    completions = [completion for group in groups for completion in group.completions]
    metrics = {
        "loss/total": stats.loss,
        **{f"loss/{name}": mean.value for name, mean in stats.means.items()},
        **_scores(batch),
        **_completions(completions, stats),
        "optimizer/grad_norm": stats.grad_norm,
        "optimizer/learning_rate": stats.learning_rate,
        "tokens/trained": float(batch.candidates.mask.sum()),
        "tokens/computed": float(batch.tokens),
        **measured,
    }
    seconds = sum(value for name, value in measured.items() if name.startswith("seconds/"))
    metrics["tokens/per_second"] = metrics["tokens/computed"] / max(seconds, 1e-9)
    if this_world().leads:
        _warn(run, step, metrics, groups)
        run.log_groups(step, [_group_record(step, g, group, stats) for g, group in enumerate(groups)])
        run.log(step, metrics)
    return StepReport(step, metrics, groups, last)


def _scores(batch: Batch) -> dict[str, float]:
    c = batch.candidates
    signal = has_signal(c.score, c.group)
    return {
        "reward/mean": float(c.score.mean()),
        "reward/std": float(c.score.std(correction=0)),
        "groups/count": float(len(batch.prompts)),
        "groups/with_signal": len(torch.unique(c.group[signal])) / len(batch.prompts),
    }


def _completions(completions: Sequence[Completion], stats: Stats) -> dict[str, float]:
    count = len(completions)
    parts: dict[str, list[float]] = {}
    for completion in completions:
        for name, value in completion.score_parts.items():
            parts.setdefault(name, []).append(value)
    return {
        "completions/count": float(count),
        "completions/length": sum(len(c.token_ids) for c in completions) / count,
        "completions/cut_off": sum(c.finish_reason == "length" for c in completions) / count,
        "completions/unjudged": sum(c.score is None for c in completions) / count,
        **{f"reward/part_{name}": sum(values) / len(values) for name, values in parts.items()},
    }


def _warn(run: Run, step: int, metrics: Mapping[str, float], groups: Sequence[Group]) -> None:
    if metrics["optimizer/grad_norm"] == 0:
        equal = not metrics["groups/with_signal"] and metrics["completions/count"] > metrics["groups/count"]
        cause = "every group's scores are all equal" if equal else "the gradient is exactly 0"
        run.event(step, "no_signal", f"step {step} changed nothing: {cause}")
    scores = [completion.score for group in groups for completion in group.completions]
    if None in scores:
        count = f"{scores.count(None)} of {len(scores)} completions"
        run.event(step, "unjudged", f"{count} could not be judged and were left out; the first: {why_unjudged(groups)}")


def _group_record(step: int, g: int, group: Group, stats: Stats) -> GroupRecord:
    return GroupRecord(
        step=step,
        origin=group.origin,
        prompt=group.prompt if isinstance(group.prompt, str) else list(group.prompt),
        prompt_ids=list(group.prompt_ids),
        completions=[
            CompletionRecord(
                token_ids=list(completion.token_ids),
                text=completion.text,
                score=completion.score,
                score_parts=dict(completion.score_parts),
                weights=stats.weights.get(
                    (g, k), [] if completion.score is None else [0.0] * len(completion.token_ids)
                ),
                finish_reason=completion.finish_reason,
                logprobs=None if completion.logprobs is None else [round(lp, 5) for lp in completion.logprobs],
            )
            for k, completion in enumerate(group.completions)
        ],
    )
