"""Rewards over time to advantages.

Legend: N rows, T response tokens; `mask` is True on a prefix of each row's tokens or any subset of them.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def at_last_token(score: Float[Tensor, "N"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, "N T"]:
    """The score on each row's last counted token, 0 elsewhere; a row without tokens gets none."""
    position = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask, position, -1).amax(-1, keepdim=True)
    return torch.where((position == last) & mask, score[:, None], 0.0)


def whiten(value: Float[Tensor, "N T"], mask: Bool[Tensor, "N T"], *, floor: float = 1e-6) -> Float[Tensor, "N T"]:
    """(value - mean) / max(std, floor) over all counted places of the step, 0 elsewhere; std over n - 1."""
    counted = value[mask]
    if len(counted) < 2:
        return torch.zeros_like(value)
    return torch.where(mask, (value - counted.mean()) / counted.std().clamp(min=floor), 0.0)


def from_steps(weight: Float[Tensor, "N T"]) -> Float[Tensor, "N T"]:
    """A token's weight is the sum of the weights of the steps that end at it or after it (arXiv:2402.03300, 4.1.3)."""
    return weight.flip(-1).cumsum(-1).flip(-1)


def gae(
    reward: Float[Tensor, "N T"],
    value: Float[Tensor, "N T"],
    mask: Bool[Tensor, "N T"],
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> tuple[Float[Tensor, "N T"], Float[Tensor, "N T"]]:
    """Generalised advantage estimation (arXiv:1506.02438) over the counted tokens, and the value targets.

        delta_t = r_t + gamma V_{t+1} - V_t        V after the last token is 0
        A_t     = delta_t + gamma lam A_{t+1}      target_t = A_t + V_t

    Positions under a False in `mask` are stepped over, wherever they stand; both results are 0 there.
    """
    advantage = torch.zeros_like(reward)
    next_value = next_advantage = reward.new_zeros(len(reward))
    for t in range(reward.shape[1] - 1, -1, -1):
        delta = reward[:, t] + gamma * next_value - value[:, t]
        counted = mask[:, t]
        now = delta + gamma * lam * next_advantage
        advantage[:, t] = torch.where(counted, now, 0.0)
        next_advantage = torch.where(counted, now, next_advantage)
        next_value = torch.where(counted, value[:, t], next_value)
    return advantage, torch.where(mask, advantage + value, 0.0)
