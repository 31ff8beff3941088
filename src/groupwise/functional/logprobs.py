"""Sequence scores from token log-probabilities.

Legend: N rows, T response tokens. `logp` is `Float[Tensor, "N T"]`, `mask` `Bool[Tensor, "N T"]` with
True on the tokens that count. What stands under a False is never read.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Length = Literal["sum", "mean", "power", "linear"]


def sequence_sum(value: Float[Tensor, "N T"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, "N"]:
    """l_i = sum_t value[i, t]."""
    return torch.where(mask, value, 0.0).sum(-1)


def sequence_mean(value: Float[Tensor, "N T"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, "N"]:
    """l_i / T_i; 0 for a row without tokens."""
    return sequence_sum(value, mask) / mask.sum(-1).clamp(min=1)


def length_normalized(
    value: Float[Tensor, "N T"], mask: Bool[Tensor, "N T"], length: Length = "sum", alpha: float = 1.0
) -> Float[Tensor, "N"]:
    """A row's score under one of four length normalisations.

    sum: l    mean: l / T    power: l / T**alpha    linear: l - alpha T
    """
    total, tokens = sequence_sum(value, mask), mask.sum(-1).to(value.dtype)
    if length == "sum":
        return total
    if length == "linear":
        return total - alpha * tokens
    return total / tokens.clamp(min=1) ** (1.0 if length == "mean" else alpha)


def log1mexp(x: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """log(1 - exp(x)) for x < 0, accurate at both ends (Maechler 2012): log(-expm1(x)) near 0, log1p(-exp(x)) below."""
    near = x > -0.6931471805599453
    return torch.where(
        near, torch.log(-torch.expm1(torch.where(near, x, -1.0))), torch.log1p(-torch.exp(torch.where(near, -1.0, x)))
    )
