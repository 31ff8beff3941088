"""REINFORCE: the score, less a baseline, on the log-probability of the response."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional import divergences, returns, surrogates, weights


@dataclass(frozen=True, kw_only=True, slots=True)
class Reinforce(Objective):
    """REINFORCE (Williams 1992) over tokens, with a baseline and the KL in the reward.

        w[i,t] = r_i - b - kl_coef * sum_{u >= t} (logp[i,u] - logp_ref[i,u])          detached
        L      = - mean_i sum_t w[i,t] logp[i,t]

    b is the mean score of the step, of the group, or 0. `whiten=True` standardises w over the step's tokens
    (REINFORCE++, arXiv:2501.03262). The policy must be the one that sampled: there is no ratio to correct it.
    """

    rowwise = True

    baseline: Literal["step", "group", "none"] = "step"  # what a score is compared with
    whiten: bool = False  # weights of mean 0 and standard deviation 1 over the step's tokens
    kl_coef: float = 0.0  # KL to the reference, taken off the reward; 0 needs no reference model

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("kl_coef", zero=True)

    @property
    def needs(self) -> Need:
        return (Need.REF | Need.CURRENT) if self.kl_coef else Need.NONE

    def prepare(self, c: Candidates) -> Candidates:
        c = c.whole_step()
        score = c.counted_score
        if self.baseline != "none":
            score = weights.centered(score, c.group if self.baseline == "group" else torch.zeros_like(c.group))
        weight = torch.where(c.mask, score.nan_to_num(nan=0.0)[:, None], 0.0).to(c.logp.dtype)
        if self.kl_coef:
            kl = divergences.k1(c.logp, c.require("logp_ref", "reinforce")).detach()
            weight = weight - self.kl_coef * returns.from_steps(kl)
        if self.whiten:
            weight = returns.whiten(weight, c.tokens)
        return replace(c, weight=weight)

    def still(self, c: Candidates) -> Tensor:
        return c.weightless

    def __call__(self, c: Candidates) -> Loss:
        weight = c.prepared_weight
        term: Tensor = surrogates.log_prob(c.logp, weight).sum(-1)
        return Loss(-c.completion_mean(term), {"weight": Mean.of(weight, c.tokens)})
