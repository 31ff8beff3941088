"""Proximal policy optimisation with a critic."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.errors import ConfigError
from groupwise.functional import divergences, returns, surrogates


@dataclass(frozen=True, kw_only=True, slots=True)
class PPO(Objective):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347; for language models arXiv:1909.08593).

        reward[i,t] = r_i at the last token - kl_coef (logp_old - logp_ref)
        w, target   = GAE(reward, V_old; gamma, lam), w whitened over the step        detached
        L           = - mean_t min(rho w, clip(rho, 1 - low, 1 + high) w)
                      + value_coef mean_t 1/2 max( (V - target)^2, (clip(V, V_old +- value_clip) - target)^2 )

    With `kl_target`, kl_coef follows the measured KL of a response (arXiv:1909.08593, 2.2): after each step

        kl_coef *= 1 + clip(KL / kl_target - 1, -0.2, 0.2) min(n / kl_horizon, 1)     n responses
    """

    rowwise = True

    clip_low: float = 0.2  # the ratio is held above 1 - clip_low for worse-than-expected tokens
    clip_high: float = 0.2  # and below 1 + clip_high for better ones
    kl_coef: float = 0.05  # KL to the reference, taken off the reward; 0 needs no reference model
    kl_target: float | None = None  # nats of a response that kl_coef is steered to; None: kl_coef stays
    kl_horizon: float = 10_000.0  # responses over which kl_coef is steered
    gamma: float = 1.0  # discount of later rewards
    lam: float = 0.95  # GAE: 0 trusts the critic, 1 the rewards
    whiten: bool = True  # weights of mean 0 and standard deviation 1 over the step's tokens
    value_coef: float = 0.1  # weight of the critic's loss
    value_clip: float | None = 0.2  # how far the critic may move from what it said before the step; None: anywhere
    per: Literal["token", "completion"] = "token"  # what counts the same in the mean

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("clip_low", "clip_high", "kl_coef", "value_coef", zero=True)
        self._check_positive("kl_horizon", *(n for n in ("kl_target", "value_clip") if getattr(self, n) is not None))
        self._check_effect("kl_horizon", self.kl_target is not None, "kl_target=None")
        for name in ("gamma", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"ppo.{name} = {getattr(self, name)}, must be in [0, 1]")
        if self.kl_target is not None and not self.kl_coef:
            raise ConfigError(f"ppo.kl_target = {self.kl_target} has no effect with kl_coef=0: give kl_coef a start")

    @property
    def needs(self) -> Need:
        return Need.OLD | Need.VALUE | (Need.REF | Need.CURRENT if self.kl_coef else Need.NONE)

    def prepare(self, c: Candidates) -> Candidates:
        c = c.whole_step()
        tokens = c.tokens
        reward = returns.at_last_token(c.counted_score.nan_to_num(nan=0.0), c.mask).to(c.logp.dtype)
        if self.kl_coef:
            reward = reward - self.kl_coef * divergences.k1(c.old, c.require("logp_ref", "ppo"))
        value = c.require("value_old", "ppo")
        weight, target = returns.gae(reward, value, tokens, gamma=self.gamma, lam=self.lam)
        if self.whiten:
            weight = returns.whiten(weight, tokens)
        return replace(c, weight=weight.detach(), value_target=target.detach())

    def __call__(self, c: Candidates) -> Loss:
        weight, old = c.prepared_weight, c.old
        term, took = surrogates.clipped(c.logp, old, weight, low=self.clip_low, high=self.clip_high)
        value, before, target = (c.require(name, "ppo") for name in ("value", "value_old", "value_target"))
        error = (value - target) ** 2
        if self.value_clip is not None:
            held = before + (value - before).clamp(-self.value_clip, self.value_clip)
            error = torch.maximum(error, (held - target) ** 2)
        mean = c.token_mean if self.per == "token" else c.completion_mean
        tokens = c.tokens
        stats = {
            "clip_fraction": Mean.of(took, tokens),
            "ratio": Mean.of(surrogates.ratio(c.logp, old), tokens),
            "value_error": Mean.of(error, tokens),
        }
        if self.kl_coef:
            kl = divergences.k1(old, c.require("logp_ref", "ppo"))
            stats["kl_ref"] = Mean.of(kl, tokens)
            stats["kl_completion"] = Mean.of(torch.where(c.mask, kl, 0.0).sum(-1), c.counted)
            stats["kl_coef"] = Mean(self.kl_coef * len(kl), len(kl))
        return Loss(-mean(term) + self.value_coef * mean(error) / 2, stats)

    def after_step(self, stats: Mapping[str, Mean]) -> "PPO":
        """The same with kl_coef moved toward `kl_target`."""
        kl = stats.get("kl_completion", Mean(0, 0))
        if self.kl_target is None or not kl.count:
            return self
        error = min(max(kl.value / self.kl_target - 1, -0.2), 0.2)
        return replace(self, kl_coef=self.kl_coef * (1 + error * min(kl.count / self.kl_horizon, 1)))
