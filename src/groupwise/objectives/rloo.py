"""REINFORCE leave-one-out: each candidate against the mean of the others."""

from dataclasses import dataclass

from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional import divergences, surrogates, weights
from groupwise.functional.logprobs import sequence_sum


@dataclass(frozen=True, kw_only=True, slots=True)
class RLOO(Objective):
    """REINFORCE leave-one-out (Ahmadian et al. 2024, arXiv:2402.14740).

        R_i = r_i - kl_coef (l_i - l_ref_i)                      detached
        w_i = R_i - mean of the group's other R
        L   = - mean_i min(rho_i w_i, clip(rho_i, 1 - low, 1 + high) w_i),      rho_i = exp(l_i - l_old_i)

    The response is one action. On the policy's own samples rho is 1 and the gradient that of w_i l_i.
    """

    rowwise = True

    kl_coef: float = 0.0  # KL to the reference, taken off the reward; 0 needs no reference model
    clip_low: float = 0.2  # the ratio is held above 1 - clip_low for worse-than-average answers
    clip_high: float = 0.2  # and below 1 + clip_high for better ones

    def __post_init__(self) -> None:
        self._check_positive("kl_coef", "clip_low", "clip_high", zero=True)

    @property
    def needs(self) -> Need:
        return Need.OLD | (Need.REF | Need.CURRENT if self.kl_coef else Need.NONE)

    def prepare(self, c: Candidates) -> Candidates:
        if not self.kl_coef:
            return c.weighted(weights.leave_one_out)
        kl = sequence_sum(divergences.k1(c.logp, c.require("logp_ref", "rloo")), c.mask).detach()
        return c.weighted(lambda score, group: weights.leave_one_out(score - self.kl_coef * kl, group))

    def still(self, c: Candidates) -> Tensor:
        return c.weightless

    def __call__(self, c: Candidates) -> Loss:
        weight, old = c.prepared_weight, c.old
        ratio = surrogates.ratio(sequence_sum(c.logp, c.mask), sequence_sum(old, c.mask))
        term, took = surrogates.clipped_ratio(ratio, weight[:, 0], low=self.clip_low, high=self.clip_high)
        stats = {"clip_fraction": Mean.of(took, c.counted), "ratio": Mean.of(ratio, c.counted)}
        return Loss(-c.completion_mean(term), stats)
