"""The optimizer and its learning rate, which is a pure function of the step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from groupwise.errors import ConfigError
from groupwise.models.sharding import like, whole

LARGEST = 1e3  # learning rate: above it nothing but overflow is to be had


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimizerConfig:
    """AdamW (arXiv:1711.05101) and its schedule."""

    learning_rate: float = 1e-6  # the highest of the schedule
    betas: tuple[float, float] = (0.9, 0.999)  # decay of the first and second moment
    eps: float = 1e-8  # added to the root of the second moment
    weight_decay: float = 0.0  # decoupled; not applied to vectors (norms, biases)
    warmup_steps: int = 0  # the rate rises from 0 over these steps
    schedule: Literal["constant", "linear", "cosine"] = "constant"  # how it falls to `final` after that
    final: float = 0.0  # share of the rate left at the last step

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= LARGEST:
            raise ConfigError(
                f"optimizer.learning_rate = {self.learning_rate}, must be above 0 and at most {LARGEST:g}: "
                "it is about how far a step moves every weight"
            )
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimizer.betas = {self.betas}, each must be from 0 to below 1")
        for name in ("eps", "weight_decay", "warmup_steps"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"optimizer.{name} = {getattr(self, name)}, must be 0 or more")
        if not self.learning_rate * self.weight_decay <= 1:
            raise ConfigError(
                f"optimizer.weight_decay = {self.weight_decay} with learning_rate = {self.learning_rate} takes more "
                "than the whole weight away at a step: their product must be at most 1"
            )
        if not 0 <= self.final <= 1:
            raise ConfigError(f"optimizer.final = {self.final}, must be in [0, 1]: a share of the learning rate")
        if self.final and self.schedule == "constant":
            raise ConfigError(f'optimizer.final = {self.final} has no effect with schedule "constant"')

    def rate(self, step: int, steps: int) -> float:
        """Learning rate of `step` out of `steps`."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, steps - self.warmup_steps)
        fall = {"constant": 0.0, "linear": done, "cosine": (1 - math.cos(math.pi * done)) / 2}[self.schedule]
        return self.learning_rate * (1 - (1 - self.final) * fall)


class Optimizer:
    """AdamW over the trained parameters; weight decay on matrices only."""

    def __init__(self, parameters: Sequence[nn.Parameter], config: OptimizerConfig) -> None:
        self.config = config
        self.parameters = list(parameters)
        matrices = [p for p in self.parameters if p.ndim > 1]
        vectors = [p for p in self.parameters if p.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.inner = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=config.learning_rate,
            betas=config.betas,
            eps=config.eps,
            fused=True,  # one pass over the memory instead of a dozen
        )

    def clip(self, max_norm: float | None) -> float:
        """The gradients' 2-norm before clipping to `max_norm`."""
        limit = math.inf if max_norm is None else max_norm
        norm = nn.utils.clip_grad_norm_(self.parameters, limit)
        return float(whole(norm))

    def step(self, step: int, steps: int) -> float:
        """Take a step at the schedule's learning rate, which is returned, and drop the gradients."""
        rate = self.config.rate(step, steps)
        for group in self.inner.param_groups:
            group["lr"] = rate
        self.inner.step()
        self.zero()
        return rate

    def zero(self) -> None:
        """Drop the gradients."""
        self.inner.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """Moments and counts, whole. A collective where the parameters are sharded."""
        state = self.inner.state_dict()
        moments = {i: {name: whole(value) for name, value in of.items()} for i, of in state["state"].items()}
        return {**state, "state": moments}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore them, sharded as the parameters are."""
        ordered = [p for group in self.inner.param_groups for p in group["params"]]
        moments = {i: {name: like(value, ordered[i]) for name, value in of.items()} for i, of in state["state"].items()}
        self.inner.load_state_dict({**state, "state": moments})
