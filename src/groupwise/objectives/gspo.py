"""Group sequence policy optimisation: GRPO with one ratio a response."""

from dataclasses import dataclass

from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional import surrogates, weights


@dataclass(frozen=True, kw_only=True, slots=True)
class GSPO(Objective):
    """Group sequence policy optimisation (Zheng et al. 2025, arXiv:2507.18071).

        s_i = exp( mean_t (logp - logp_old) )                    the response's ratio, length-normalised
        L   = - mean_i min(s_i w_i, clip(s_i, 1 - low, 1 + high) w_i)

    w as in GRPO. The ratio of a whole response moves far less than a token's, so the clip is far tighter.
    """

    rowwise = True

    clip_low: float = 3e-4  # the ratio is held above 1 - clip_low for worse-than-average answers
    clip_high: float = 4e-4  # and below 1 + clip_high for better ones
    # how scores become weights
    advantage: weights.Advantage = "standardized"

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("clip_low", "clip_high", zero=True)

    @property
    def needs(self) -> Need:
        return Need.OLD

    def prepare(self, c: Candidates) -> Candidates:
        return c.weighted(getattr(weights, self.advantage))

    def still(self, c: Candidates) -> Tensor:
        return c.weightless

    def __call__(self, c: Candidates) -> Loss:
        weight, old = c.prepared_weight, c.old
        ratio = surrogates.sequence_ratio(c.logp, old, c.mask)
        term, took = surrogates.clipped_ratio(ratio, weight, low=self.clip_low, high=self.clip_high)
        tokens = c.tokens
        return Loss(-c.completion_mean(term), {"clip_fraction": Mean.of(took, tokens), "ratio": Mean.of(ratio, tokens)})
