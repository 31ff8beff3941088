"""Scores of one group to weights. Every result is detached; equal scores give exactly zero (`softmax`: 1 / K).

Legend: N rows. `score` and the result are `Float[Tensor, "N"]`, `group` `Int[Tensor, "N"]`. A NaN
score ("could not be judged") is in no statistic and gets weight 0.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from groupwise.functional.groups import (
    group_logsumexp,
    group_max,
    group_mean,
    group_size,
    group_std,
    group_sum,
    has_signal,
    judged,
    members,
    pairs,
)

Advantage = Literal["standardized", "batch_standardized", "ranked", "centered", "leave_one_out"]
"""Weights of scores alone, by the names of their functions: what a method of the GRPO family may choose from."""


def _only_signal(weight: Float[Tensor, "N"], score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """Zero where the group's scores are all equal (by equality, so that rounding cannot leak) or unjudged."""
    return torch.where(has_signal(score, group) & judged(score), weight, 0.0).detach()


def centered(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """w_i = r_i - mean(r) (Dr. GRPO, arXiv:2503.20783)."""
    return _only_signal(score - group_mean(score, group), score, group)


def standardized(
    score: Float[Tensor, "N"], group: Int[Tensor, "N"], *, ddof: int = 1, floor: float = 1e-6
) -> Float[Tensor, "N"]:
    """w_i = (r_i - mean(r)) / max(std(r), floor) (GRPO, arXiv:2402.03300).

    `ddof=1` is the sample standard deviation (K - 1), `ddof=0` the population's. The floor is in the
    score's own units and keeps scores that differ by rounding only from turning into weights of size
    one; scores that are exactly equal get exactly 0 whatever the floor.
    """
    std = group_std(score, group, ddof=ddof).clamp(min=floor)
    return _only_signal((score - group_mean(score, group)) / std, score, group)


def batch_standardized(
    score: Float[Tensor, "N"], group: Int[Tensor, "N"], *, ddof: int = 1, floor: float = 1e-6
) -> Float[Tensor, "N"]:
    """w_i = (r_i - group mean) / max(std of these over the step, floor) (Lite PPO, REINFORCE++-baseline)."""
    deviation = centered(score, group)
    whole_step = torch.zeros_like(group)
    std = group_std(torch.where(judged(score), deviation, torch.nan), whole_step, ddof=ddof)
    return _only_signal(deviation / std.clamp(min=floor), score, group)


def leave_one_out(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """w_i = r_i - mean of the others = (r_i - mean(r)) K / (K - 1) (RLOO, arXiv:2402.14740)."""
    size = group_size(score, group)
    return centered(score, group) * size / (size - 1).clamp(min=1)


def average_rank(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """Rank of each score in its group, 0 the lowest; ties share their average rank; NaN where unjudged.

    rank_i = #{j: r_j < r_i} + (#{j: r_j = r_i} - 1) / 2
    """
    order = torch.argsort(score.nan_to_num(nan=torch.inf), stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    in_order, of_group = score[order], group[order]
    position = torch.arange(len(score), device=score.device, dtype=score.dtype)
    starts = torch.ones_like(of_group, dtype=torch.bool)
    starts[1:] = of_group[1:] != of_group[:-1]
    place = position - torch.where(starts, position, 0.0).cummax(0).values if len(score) else position
    run = starts.clone()
    run[1:] |= in_order[1:] != in_order[:-1]
    average = group_mean(place, run.cumsum(0))
    ranks = torch.empty_like(score)
    ranks[order] = average
    return torch.where(judged(score), ranks, torch.nan)


def ranked(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """w_i = (k_i - mean(k)) / std(k), k the average rank in 0 .. K-1, std the population's."""
    rank = average_rank(score, group)
    std = group_std(rank, group, ddof=0)
    weight = (rank - group_mean(rank, group)) / torch.where(std > 0, std, 1.0)
    return _only_signal(weight, score, group)


def softmax(score: Float[Tensor, "N"], group: Int[Tensor, "N"], *, temperature: float = 1.0) -> Float[Tensor, "N"]:
    """w_i = exp(r_i / temperature) / sum_j exp(r_j / temperature); unjudged rows get 0 (reward-weighted)."""
    exponent = torch.exp((score - group_max(score, group)) / temperature).nan_to_num(nan=0.0)
    return (exponent / group_sum(exponent, group).clamp(min=torch.finfo(score.dtype).tiny)).detach()


def top_k(score: Float[Tensor, "N"], group: Int[Tensor, "N"], *, k: int = 1, rho: float = 0.0) -> Float[Tensor, "N"]:
    """w_i = 1/k for the k best of K, -rho / (K - k) for the rest.

    Rows that tie share what their places get: each has the mean weight of them. `rho` says how hard the
    rest is pushed down; at 1 a group's weights add up to 0. Where k >= K all get 1 / K.
    """
    size = group_size(score, group)
    best = size.clamp(max=k)
    lowest, ties = _places(score, group)
    among = (best - lowest).clamp(min=0).minimum(ties)  # places of this tie that are among the best
    rest = -rho / (size - best).clamp(min=1)
    weight = (among / best.clamp(min=1) + (ties - among) * rest) / ties.clamp(min=1)
    return _only_signal(weight, score, group)


def _places(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> tuple[Float[Tensor, "N"], Float[Tensor, "N"]]:
    """For each row, how many of its group are better, and how many are as good (itself too)."""
    rows, there = members(group)
    better = (there & (score[rows] > score[:, None])).sum(-1)
    equal = (there & (score[rows] == score[:, None])).sum(-1)
    return better.to(score.dtype), equal.to(score.dtype)


def pairwise(
    score: Float[Tensor, "N"], group: Int[Tensor, "N"], strength: Float[Tensor, "N"], *, beta: float = 1.0
) -> Float[Tensor, "N"]:
    """The gradient of Bradley-Terry: each pair with r_i > r_j adds beta s(-d) to i and takes it from j.

        d = S_i - S_j,   s the logistic function,   S = `strength`

    Summed over a row's pairs. `beta` is the derivative of S with respect to what the weight is put on.
    """
    better, worse = pairs(score, group)
    push = beta * torch.sigmoid(strength[worse] - strength[better])
    weight = torch.zeros_like(strength).index_add(0, better, push).index_add(0, worse, -push)
    return _only_signal(weight, score, group)


def plackett_luce(
    score: Float[Tensor, "N"],
    group: Int[Tensor, "N"],
    strength: Float[Tensor, "N"],
    *,
    top: int | None = None,
    beta: float = 1.0,
) -> Float[Tensor, "N"]:
    """beta times the gradient of `plackett_luce_log_likelihood` with respect to each row's strength S_i."""
    rows, _, log_chance, stage = _choices(score, group, strength, top)
    chance = torch.where(stage[:, None], log_chance.exp(), 0.0)
    weight = stage.to(strength.dtype).index_add(0, rows.flatten(), -chance.flatten())
    return _only_signal(beta * weight, score, group)


def plackett_luce_log_likelihood(
    score: Float[Tensor, "N"], group: Int[Tensor, "N"], strength: Float[Tensor, "N"], *, top: int | None = None
) -> Float[Tensor, "N"]:
    """log of the chance that each row is chosen before all that are no better; a group's rows add up to the ranking's.

        S_i - log sum_{j: r_j <= r_i} exp(S_j)

    Ties by Breslow: each of them is chosen from the whole tie and what is below. A group's worst rows make
    no choice (0), nor do rows with `top` or more better ones. Not detached.
    """
    rows, open_to, log_chance, stage = _choices(score, group, strength, top)
    own = open_to & (rows == torch.arange(len(score), device=score.device)[:, None])
    return torch.where(own & stage[:, None], log_chance, 0.0).sum(-1)


def _choices(
    score: Float[Tensor, "N"], group: Int[Tensor, "N"], strength: Float[Tensor, "N"], top: int | None
) -> tuple[Int[Tensor, "N K"], Bool[Tensor, "N K"], Float[Tensor, "N K"], Bool[Tensor, "N"]]:
    """For each row's choice: the rows of its group, which are open to it, the log of each one's chance, and whether
    it is a choice.
    """
    rows, there = members(group)
    open_to = there & (score[rows] <= score[:, None])
    none = torch.finfo(strength.dtype).min / 4  # finite, so that the gradient of what is not chosen is 0 and not NaN
    option = torch.where(open_to, strength[rows], none)
    log_chance = torch.where(open_to, option.log_softmax(-1), none)
    stage = judged(score) & (score > -group_max(-score, group))
    if top is not None:
        stage &= _places(score, group)[0] < top
    return rows, open_to, log_chance, stage


def listwise(score: Float[Tensor, "N"], group: Int[Tensor, "N"], strength: Float[Tensor, "N"]) -> Float[Tensor, "N"]:
    """w_i = softmax(S)_i over the group's judged rows: the policy's own preference.

    Carries no preference signal by itself: the scores say only which rows are there. It sharpens what the
    policy already prefers; use `plackett_luce` or `softmax` to learn from scores.
    """
    present = torch.where(judged(score), strength, -torch.inf)
    return torch.exp(present - group_logsumexp(present, group)).detach()
