"""What the policy is pulled toward: the model it started from, never trained."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from groupwise.data.batch import Batch
from groupwise.errors import ConfigError
from groupwise.models.policy import Policy
from groupwise.models.trained import Reader


class Reference(Protocol):
    """Log-probabilities under a frozen model."""

    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """As `Policy.log_probs`, without gradient."""
        ...

    def after_step(self, step: int, policy: Reader) -> None:
        """Follow the policy, where the reference does."""
        ...

    def state(self) -> dict[str, Tensor]:
        """What must be saved of a reference that follows; empty for one that stands still."""
        ...

    def set_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceUpdate:
    """How a reference follows the policy (TR-DPO, arXiv:2404.09656).

    ref <- (1 - mix) ref + mix policy        after every `every` steps
    """

    every: int = 1  # steps between updates
    mix: float = 1.0  # 1: the policy is copied; below: a moving average

    def __post_init__(self) -> None:
        if not self.every >= 1:
            raise ConfigError(f"model.reference_update.every = {self.every}, must be 1 or more")
        if not 0 < self.mix <= 1:
            raise ConfigError(f"model.reference_update.mix = {self.mix}, must be in (0, 1]: 1 copies the policy")


class FrozenReference:
    """A second model in memory, which stands still or follows the policy now and then."""

    def __init__(self, policy: Policy, update: ReferenceUpdate | None = None) -> None:
        self.policy, self.update = policy, update
        for parameter in policy.module.parameters():
            parameter.requires_grad_(False)

    @torch.no_grad()
    def after_step(self, step: int, policy: Reader) -> None:
        """Take over a share of the policy's parameters, every so many steps. A collective where it is sharded."""
        if self.update is None or (step + 1) % self.update.every:
            return
        trained = policy.trained_state()
        for name, parameter in self.policy.module.named_parameters():
            if name in trained:
                parameter.lerp_(trained[name].to(parameter), self.update.mix)

    def state(self) -> dict[str, Tensor]:
        """The parameters, if they move."""
        if self.update is None:
            return {}
        return {name: parameter.detach().cpu() for name, parameter in self.policy.module.named_parameters()}

    @torch.no_grad()
    def set_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave."""
        for name, parameter in self.policy.module.named_parameters():
            if name in state:
                parameter.copy_(state[name])

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """Log-probabilities under the frozen model."""
        return self.policy.log_probs(batch)


class AdapterOff:
    """The policy itself with its adapters off: no second model. It stands still."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def after_step(self, step: int, policy: Reader) -> None:
        """Nothing to do."""

    def state(self) -> dict[str, Tensor]:
        """Nothing moves."""
        return {}

    def set_state(self, state: Mapping[str, Tensor]) -> None:
        """Nothing to take over."""

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """Log-probabilities under the model that the adapters started from."""
        with self.policy.reference_view() as reference:
            return reference.log_probs(batch)
