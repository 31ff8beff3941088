"""Scores of one group to weights. Every result is detached; equal scores give exactly zero (`softmax`: 1 / K).

Legend: N rows. `score` and the result are `Float[Tensor, "N"]`, `group` `Int[Tensor, "N"]`. A NaN
score ("could not be judged") is in no statistic and gets weight 0.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groupwise.functional.groups import group_max, group_mean, group_size, group_std, group_sum, has_signal, judged


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
