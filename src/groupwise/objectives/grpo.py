"""Group relative policy optimisation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.errors import ConfigError, RewardError
from groupwise.functional import divergences, returns, surrogates, weights


@dataclass(frozen=True, kw_only=True, slots=True)
class GRPO(Objective):
    """Group relative policy optimisation (DeepSeekMath, arXiv:2402.03300).

        w_i = (r_i - mean(r)) / std(r)                                  over the group, detached
        rho = pi / pi_old
        L   = - mean_i mean_t [ min(rho w_i, clip(rho, 1 - low, 1 + high) w_i) - kl_coef KL(pi || ref) ]

    Where we depart from the paper: the default has no KL term (the paper: `kl_coef=0.04`, `kl="k3"`).
    `per="token"` is DAPO's mean (arXiv:2503.14476), `per="constant"` with `advantage="centered"` Dr. GRPO
    (arXiv:2503.20783), which divides by a length that does not depend on the answers: `constant_length`.
    A group of equal scores has weight exactly 0.

    `process=True` (4.1.3): each step of an answer has a reward, weighed against all steps of its group; a token's
    weight is the sum of those of the steps that end at it or after it.
    """

    rowwise = True

    clip_low: float = 0.2  # the ratio is held above 1 - clip_low for worse-than-average answers
    clip_high: float = 0.2  # and below 1 + clip_high for better ones; DAPO's clip-higher is 0.28
    kl_coef: float = 0.0  # strength of the pull to the reference; 0 needs no reference model
    kl: Literal["k1", "k2", "k3"] = "k3"  # KL estimator; k1 has no expected gradient as a loss
    # how scores become weights
    advantage: weights.Advantage = "standardized"
    ddof: int = 1  # standard deviation over K - ddof
    per: Literal["completion", "token", "constant"] = "completion"  # what counts the same in the mean
    process: bool = False  # rewards of steps instead of one of the whole answer
    constant_length: int | None = None  # for per="constant": tokens to divide by; None: the step's longest answer

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        if not 0 <= self.clip_low <= 1:
            raise ConfigError(f"grpo.clip_low = {self.clip_low}, must be in [0, 1]")
        if not self.clip_high >= 0:
            raise ConfigError(f"grpo.clip_high = {self.clip_high}, must be 0 or more")
        self._check_positive("kl_coef", zero=True)
        if self.constant_length is not None and not self.constant_length >= 1:
            raise ConfigError(f"grpo.constant_length = {self.constant_length}, must be 1 token or more")
        if self.constant_length is not None and self.per != "constant":
            raise ConfigError(f'grpo.constant_length = {self.constant_length} has no effect with per="{self.per}"')
        if self.ddof not in (0, 1):
            raise ConfigError(f"grpo.ddof = {self.ddof}, must be 0 (population) or 1 (sample)")
        if self.ddof != 1 and not self.advantage.endswith("standardized"):
            raise ConfigError(f'grpo.ddof = {self.ddof} has no effect with advantage="{self.advantage}"')
        if self.kl != "k3" and not self.kl_coef:
            raise ConfigError(f'grpo.kl = "{self.kl}" has no effect with kl_coef=0: set kl_coef, or leave kl out')

    @property
    def needs(self) -> Need:
        return Need.OLD | (Need.REF if self.kl_coef else Need.NONE)

    def prepare(self, c: Candidates) -> Candidates:
        if self.process:
            return replace(c.whole_step(), weight=self._of_steps(c))
        return c.weighted(self._weights)

    def _of_steps(self, c: Candidates) -> Tensor:
        """The steps' rewards against all steps of the group; a token has those of the steps that end at or after it."""
        score = c.token_score
        if score is None:
            raise RewardError(
                "grpo.process = True reads the rewards of steps, and there are none: the reward must return "
                '{"steps": [(where a step ends in the text, its reward), ...]}'
            )
        ends = ~score.isnan() & c.tokens
        group = c.group[:, None].expand_as(score)[ends]
        weight = torch.zeros_like(score).masked_scatter(ends, self._weights(score[ends], group))
        return torch.where(c.mask, returns.from_steps(weight), 0.0).to(c.logp.dtype)

    def still(self, c: Candidates) -> Tensor:
        return c.weightless if not self.kl_coef else Objective.still(self, c)

    def __call__(self, c: Candidates) -> Loss:
        weight, old = c.prepared_weight, c.old
        term, took = surrogates.clipped(c.logp, old, weight, low=self.clip_low, high=self.clip_high)
        tokens = c.tokens
        stats = {"clip_fraction": Mean.of(took, tokens), "ratio": Mean.of(surrogates.ratio(c.logp, old), tokens)}
        loss = -term
        if self.kl_coef:
            ref = c.require("logp_ref", "grpo")
            loss = loss + self.kl_coef * divergences.ESTIMATORS[self.kl](c.logp, ref)
            stats["kl_ref"] = Mean.of(divergences.k3(c.logp, ref), tokens)
        return Loss(self._mean(c, loss), stats)

    @property
    def _weights(self) -> Callable[[Tensor, Tensor], Tensor]:
        rule: Callable[..., Tensor] = getattr(weights, self.advantage)
        return partial(rule, ddof=self.ddof) if self.advantage.endswith("standardized") else rule

    def _mean(self, c: Candidates, loss: Tensor) -> Tensor:
        if self.per == "constant":
            return c.constant_mean(loss, self.constant_length)
        return c.token_mean(loss) if self.per == "token" else c.completion_mean(loss)
