"""Plackett-Luce: the likelihood of a whole ranking under the policy's implicit rewards."""

from dataclasses import dataclass

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.errors import ConfigError
from groupwise.functional.logprobs import Length, length_normalized
from groupwise.functional.weights import plackett_luce_log_likelihood


@dataclass(frozen=True, kw_only=True, slots=True)
class PlackettLuce(Objective):
    """Listwise preference optimisation (Rafailov et al. 2023, arXiv:2305.18290, appendix A.3).

        S_i = beta (l_i - l_ref_i)
        L   = - sum_k log( exp(S_(k)) / sum_{j >= k} exp(S_(j)) )          over the ranking, mean over groups

    With K = 2 it is DPO. Ties by Breslow: each member of a tie is chosen from the whole tie and what is below;
    the worst rows of a group make no choice, so equal scores teach nothing. `top` stops after the best few.
    """

    beta: float = 0.1  # strength of the pull to the reference; usual 0.01 .. 0.5
    top: int | None = None  # only the choices of the best `top` places; None: the whole ranking
    length: Length = "sum"  # how a response's log-probability is normalised
    alpha: float = 1.0  # exponent or slope of length="power" / "linear"

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("beta")
        self._check_length()
        if self.top is not None and not self.top >= 1:
            raise ConfigError(f"plackett_luce.top = {self.top}, must be 1 or more, or null for the whole ranking")

    @property
    def needs(self) -> Need:
        return Need.REF

    def __call__(self, c: Candidates) -> Loss:
        log_ratio = c.logp - c.require("logp_ref", "plackett_luce")
        strength = self.beta * length_normalized(log_ratio, c.mask, self.length, self.alpha)
        nll = -plackett_luce_log_likelihood(c.counted_score, c.group, strength, top=self.top)
        better, worse = c.pairs()
        margin = strength[better] - strength[worse]
        stats = {"margin": Mean.of(margin), "accuracy": Mean.of((margin > 0).float())}
        return Loss(c.paired_mean(nll), stats)
