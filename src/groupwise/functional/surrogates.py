"""Per-token terms to be maximised: a detached weight on a function of the policy's log-probabilities.

Legend: N rows, T tokens. `logp`, `logp_old` are `Float[Tensor, "N T"]`; `weight` broadcasts to them and
carries no gradient. The log-ratio is capped at +-20 so that a token the old policy thought impossible
gives a large number instead of an infinite one.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from groupwise.functional.divergences import LOG_RATIO_LIMIT
from groupwise.functional.logprobs import sequence_mean


def ratio(logp: Float[Tensor, "*S"], anchor: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """rho = pi / anchor = exp(logp - anchor), the exponent within +-20."""
    return torch.exp((logp - anchor).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))


def log_prob(logp: Float[Tensor, "N T"], weight: Float[Tensor, "..."]) -> Float[Tensor, "N T"]:
    """w logp (REINFORCE)."""
    return weight * logp


def clipped(
    logp: Float[Tensor, "N T"],
    anchor: Float[Tensor, "N T"],
    weight: Float[Tensor, "..."],
    *,
    low: float = 0.2,
    high: float = 0.2,
    dual: float | None = None,
) -> tuple[Float[Tensor, "N T"], Bool[Tensor, "N T"]]:
    """min(rho w, clip(rho, 1 - low, 1 + high) w), and where the clip took the gradient (PPO, arXiv:1707.06347).

    `dual`: for w < 0 the term is at least `dual * w` (dual clip, arXiv:1912.09729), dual > 1.
    """
    return clipped_ratio(ratio(logp, anchor), weight, low=low, high=high, dual=dual)


def clipped_ratio(
    rho: Float[Tensor, "*S"], weight: Float[Tensor, "..."], *, low: float, high: float, dual: float | None = None
) -> tuple[Float[Tensor, "*S"], Bool[Tensor, "*S"]]:
    """`clipped` of a ratio of any kind: a token's or a whole response's."""
    free, bound = rho * weight, rho.clamp(1 - low, 1 + high) * weight
    term, took = torch.minimum(free, bound), bound < free
    if dual is not None:
        lowest = torch.where(weight < 0, dual * weight, -torch.inf).expand_as(term)
        term, took = torch.maximum(term, lowest), took | (lowest > term)
    return term, took


def sequence_ratio(
    logp: Float[Tensor, "N T"], anchor: Float[Tensor, "N T"], mask: Bool[Tensor, "N T"]
) -> Float[Tensor, "N T"]:
    """GSPO's ratio of a whole response, s = exp(mean_t(logp - anchor)), at each of its tokens (arXiv:2507.18071)."""
    mean = sequence_mean(logp - anchor, mask).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return torch.exp(mean)[:, None].expand_as(logp)


def capped(
    logp: Float[Tensor, "N T"], anchor: Float[Tensor, "N T"], weight: Float[Tensor, "..."], *, cap: float
) -> tuple[Float[Tensor, "N T"], Bool[Tensor, "N T"]]:
    """stop_gradient(min(rho, cap)) w logp, and where the cap held (CISPO, arXiv:2506.13585)."""
    rho = ratio(logp, anchor).detach()
    return rho.clamp(max=cap) * weight * logp, rho > cap
