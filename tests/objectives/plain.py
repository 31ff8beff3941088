"""A step of ragged groups, and the same step as plain lists of floats: what the slow loops of these tests read."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import settings
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Objective, implied_weights

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)
SEEDS = st.integers(0, 2**31)
some = settings(derandomize=True, deadline=None, max_examples=25)


@dataclass(frozen=True)
class Row:
    """One completion: its counted tokens only."""

    place: int  # row number in the step
    at: tuple[int, ...]  # columns of its tokens
    group: int
    score: float
    logp: tuple[float, ...]
    old: tuple[float, ...]
    ref: tuple[float, ...]
    value: tuple[float, ...]
    value_old: tuple[float, ...]
    confidence: float
    mismatched: bool

    @property
    def T(self) -> int:
        return len(self.logp)

    @property
    def counts(self) -> bool:
        return not self.mismatched and not math.isnan(self.score)

    @property
    def h(self) -> float:
        """l - l_ref."""
        return sum(self.logp) - sum(self.ref)


def step(seed: int, sizes: list[int], *, unjudged: float = 0.15, confidence: bool = False, mismatched: int = 0):
    """Groups of these sizes: rows not neighbours, masks with holes, scores with ties, some rows unjudged."""
    draw = torch.Generator().manual_seed(seed)
    rows, tokens = sum(sizes) + mismatched, 4
    group = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    group = torch.cat([group, torch.arange(mismatched) + 100])[torch.randperm(rows, generator=draw)]
    mask = torch.rand(rows, tokens, generator=draw) < 0.7
    mask[torch.arange(rows), torch.randint(tokens, (rows,), generator=draw)] = True

    def noise(scale: float) -> torch.Tensor:
        return scale * torch.randn(rows, tokens, generator=draw, dtype=torch.float64)

    score = torch.randint(4, (rows,), generator=draw).double() / 2 - 0.5
    score[torch.rand(rows, generator=draw) < unjudged] = torch.nan
    logp = -noise(1).abs() - 0.01
    return Candidates(
        logp=logp,
        mask=mask,
        group=3 * group + 1,
        score=score,
        logp_old=logp + noise(0.3),
        logp_ref=logp + noise(0.5),
        value=noise(1),
        value_old=noise(1),
        confidence=0.55 + 0.45 * torch.rand(rows, generator=draw, dtype=torch.float64) if confidence else None,
        mismatched=group >= 100 if mismatched else None,
    )


def rows_of(c: Candidates) -> list[Row]:
    """Every row of the step; the policy that sampled is the policy itself where `logp_old` is None."""
    confidence = c.confidence if c.confidence is not None else torch.ones(len(c.score))
    mismatched = c.mismatched if c.mismatched is not None else torch.zeros(len(c.score), dtype=torch.bool)
    old = c.logp if c.logp_old is None else c.logp_old
    found = []
    for i, mask in enumerate(c.mask.tolist()):
        at = tuple(t for t, counted in enumerate(mask) if counted)
        tensors = (c.logp, old, c.logp_ref, c.value, c.value_old)
        logp, old_i, ref, value, value_old = (
            tuple(x[i, t].item() for t in at) if x is not None else () for x in tensors
        )
        found.append(
            Row(
                place=i,
                at=at,
                group=int(c.group[i]),
                score=c.score[i].item(),
                logp=logp,
                old=old_i,
                ref=ref,
                value=value,
                value_old=value_old,
                confidence=confidence[i].item(),
                mismatched=bool(mismatched[i]),
            )
        )
    return found


def groups_of(c: Candidates) -> list[list[Row]]:
    """The rows that count, group by group; groups without one are not there."""
    counted = [row for row in rows_of(c) if row.counts]
    return [[row for row in counted if row.group == g] for g in sorted({row.group for row in counted})]


def pairs_of(rows: list[Row]) -> list[tuple[Row, Row]]:
    return [(a, b) for a in rows for b in rows if a.score > b.score]


def mean(values) -> float:
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def mean_over_pairs(c: Candidates, cost: Callable[[Row, Row], float]) -> float:
    """Mean over each group's pairs of a better and a worse row, then over the groups that have one."""
    of_groups = [[cost(a, b) for a, b in pairs_of(rows)] for rows in groups_of(c)]
    return mean(mean(costs) for costs in of_groups if costs)


def nls(x: float) -> float:
    """- log s(x), s the logistic function."""
    return math.log1p(math.exp(-x))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def ranking_nll(rows: list[Row], S: dict[int, float], top: int | None) -> float:
    """Each row is chosen from those that are no better; the worst make no choice, nor do those below `top` others."""
    total = 0.0
    for row in rows:
        left = [other for other in rows if other.score <= row.score]
        above = sum(other.score > row.score for other in rows)
        if any(other.score < row.score for other in left) and (top is None or above < top):
            total += math.log(sum(math.exp(S[other.place]) for other in left)) - S[row.place]
    return total


def standardized(scores: list[float]) -> list[float]:
    if len(set(scores)) < 2:
        return [0.0] * len(scores)
    m = mean(scores)
    std = math.sqrt(sum((r - m) ** 2 for r in scores) / (len(scores) - 1))
    return [(r - m) / std for r in scores]


def normalized(total: float, tokens: int, length: str, alpha: float) -> float:
    return {
        "sum": total,
        "mean": total / tokens,
        "power": total / tokens**alpha,
        "linear": total - alpha * tokens,
    }[length]


def clipped(rho: float, w: float, low: float, high: float) -> float:
    return min(rho * w, max(1 - low, min(rho, 1 + high)) * w)


def loss_of(objective: Objective, c: Candidates) -> float:
    return objective(objective.prepare(c)).loss.item()


def stats_of(objective: Objective, c: Candidates) -> dict[str, float]:
    return {name: m.value for name, m in objective(objective.prepare(c)).stats.items()}


def push_of(objective: Objective, c: Candidates) -> torch.Tensor:
    return implied_weights(objective, objective.prepare(c))


def table(c: Candidates, push: dict[tuple[int, int], float]) -> torch.Tensor:
    """Pushes by (row number, column) as a tensor, 0 elsewhere."""
    out = torch.zeros_like(c.logp)
    for (i, t), value in push.items():
        out[i, t] = value
    return out
