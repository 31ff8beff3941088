"""Sums, means and pairs over the rows of a group.

Legend: N rows, G groups. `group` is `Int[Tensor, "N"]`, any non-negative ids in any order; rows of
one group need not be neighbours. Results keep the row form (`[N]`), so a formula reads as printed:
`score - group_mean(score, group)`.

A score of NaN means "could not be judged". Such a row is in no statistic of its group.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def group_index(group: Int[Tensor, "N"]) -> tuple[Int[Tensor, "N"], int]:
    """Ids renumbered 0 .. G-1 (in order of id), and G."""
    ids, index = torch.unique(group, return_inverse=True)
    return index, len(ids)


def group_sum(value: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """For each row, the sum of `value` over its group."""
    index, count = group_index(group)
    return value.new_zeros(count).index_add(0, index, value)[index]


def group_max(value: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """For each row, the largest `value` of its group; NaN rows are passed over."""
    index, count = group_index(group)
    lowest = value.new_full((count,), -torch.inf)
    return lowest.scatter_reduce(0, index, torch.where(value.isnan(), -torch.inf, value), "amax")[index]


def judged(score: Float[Tensor, "N"]) -> Bool[Tensor, "N"]:
    """Rows whose score is a number: not NaN."""
    return ~score.isnan()


def group_size(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """For each row, how many rows of its group could be judged."""
    return group_sum(judged(score).to(score.dtype), group)


def group_mean(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """For each row, the mean of the judged scores of its group (0 where there is none)."""
    return group_sum(score.nan_to_num(nan=0.0), group) / group_size(score, group).clamp(min=1)


def group_std(score: Float[Tensor, "N"], group: Int[Tensor, "N"], *, ddof: int = 1) -> Float[Tensor, "N"]:
    """For each row, sqrt(sum (r - mean)^2 / (n - ddof)) of its group; 0 where n <= ddof."""
    deviation = (score - group_mean(score, group)).nan_to_num(nan=0.0)
    freedom = group_size(score, group) - ddof
    variance = group_sum(deviation**2, group) / freedom.clamp(min=1)
    return torch.where(freedom > 0, variance.sqrt(), 0.0)


def has_signal(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Bool[Tensor, "N"]:
    """For each row, whether its group holds two different scores. Equality is exact."""
    return group_max(score, group) > -group_max(-score, group)


def pairs(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> tuple[Int[Tensor, "M"], Int[Tensor, "M"]]:
    """All ordered pairs (better, worse) of row numbers: same group, score_better > score_worse.

    Ties and unjudged rows form no pair. Pairs are formed group by group (sum of K^2, never N^2).
    """
    order = torch.argsort(group, stable=True)
    sizes = torch.unique_consecutive(group[order], return_counts=True)[1].tolist()
    blocks = [torch.cartesian_prod(rows, rows).reshape(-1, 2) for rows in torch.split(order, sizes)]
    left, right = torch.cat([*blocks, order.new_zeros(0, 2)]).unbind(1)
    keep = score[left] > score[right]
    return left[keep], right[keep]


def members(group: Int[Tensor, "N"]) -> tuple[Int[Tensor, "N K"], Bool[Tensor, "N K"]]:
    """For each row, the row numbers of its group (K: the largest group's size), and which of them are there."""
    index, count = group_index(group)
    order = torch.argsort(index, stable=True)
    size = torch.bincount(index, minlength=count)
    place = torch.arange(len(group), device=group.device) - (size.cumsum(0) - size)[index[order]]
    width = int(size.max()) if count else 0
    rows = index.new_zeros(count, width)
    rows[index[order], place] = order
    return rows[index], torch.arange(width, device=group.device) < size[index][:, None]


def group_logsumexp(value: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """For each row, log of the sum of exp(value) over its group; -inf rows add nothing."""
    highest = group_max(value.detach(), group).nan_to_num(neginf=0.0)
    return highest + group_sum(torch.exp(value - highest), group).clamp(min=torch.finfo(value.dtype).tiny).log()


def best_of_group(score: Float[Tensor, "N"], group: Int[Tensor, "N"]) -> Bool[Tensor, "N"]:
    """Rows that hold their group's highest score (several where they tie)."""
    return score == group_max(score, group)
