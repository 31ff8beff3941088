"""What the policy is pulled toward: the model it started from, never trained."""

from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from groupwise.data.batch import Batch
from groupwise.models.policy import Policy


class Reference(Protocol):
    """Log-probabilities under a frozen model."""

    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """As `Policy.log_probs`, without gradient."""
        ...


class FrozenReference:
    """A second model in memory."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        for parameter in policy.module.parameters():
            parameter.requires_grad_(False)

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """Log-probabilities under the frozen model."""
        return self.policy.log_probs(batch)


class AdapterOff:
    """The policy itself with its adapters off: no second model."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """Log-probabilities under the model that the adapters started from."""
        with self.policy.reference_view() as reference:
            return reference.log_probs(batch)
