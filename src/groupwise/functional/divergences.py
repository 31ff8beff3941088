"""Estimators of KL(pi || ref) per token, from samples of pi.

`d = logp - logp_ref`, any shape. As a loss on samples of pi: the gradient of `k1` has expectation 0
(right inside a reward, useless as a loss); that of `k2` is the reverse KL's; that of `k3` is biased
for the reverse KL, and is DeepSeekMath's choice. http://joschu.net/blog/kl-approx.html
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

LOG_RATIO_LIMIT = 20.0  # exp(20) = 4.9e8: past any ratio that means something, far from overflow in float32


def k1(logp: Float[Tensor, "*S"], logp_ref: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """d: unbiased value, can be negative."""
    return logp - logp_ref


def k2(logp: Float[Tensor, "*S"], logp_ref: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """d^2 / 2: low variance, its gradient is the reverse KL's."""
    return (logp - logp_ref) ** 2 / 2


def k3(logp: Float[Tensor, "*S"], logp_ref: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """exp(-d) - 1 + d: unbiased value, never negative. A straight line below d = -20, so that it stays finite."""
    d = logp - logp_ref
    near = d.clamp(min=-LOG_RATIO_LIMIT)
    # relu and not near - d: the gradients of two terms of 5e8 would leave only their rounding
    return torch.expm1(-near) + d + math.exp(LOG_RATIO_LIMIT) * torch.relu(-LOG_RATIO_LIMIT - d)


def exact(log_probs: Float[Tensor, "*S V"], log_probs_ref: Float[Tensor, "*S V"]) -> Float[Tensor, "*S"]:
    """sum over the vocabulary of pi (log pi - log ref); entries of probability 0 add 0."""
    p = log_probs.exp()
    return (p * torch.where(p > 0, log_probs - log_probs_ref, 0.0)).sum(-1)


ESTIMATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}
