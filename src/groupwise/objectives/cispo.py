"""CISPO: the importance weight is capped, the token's gradient is kept."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional import surrogates, weights


@dataclass(frozen=True, kw_only=True, slots=True)
class CISPO(Objective):
    """Clipped importance sampling policy optimisation (MiniMax-M1 2025, arXiv:2506.13585).

        L = - mean over tokens of stop_gradient(min(rho, cap)) w_i logp           rho = pi / pi_old

    w as in GRPO. No token loses its gradient to a clip: rare tokens that a clip would silence still learn.
    """

    rowwise = True

    cap: float = 5.0  # highest importance weight, 1 + the paper's eps_high
    # how scores become weights
    advantage: weights.Advantage = "standardized"
    per: Literal["token", "completion"] = "token"  # what counts the same in the mean; the paper: every token

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("cap")

    @property
    def needs(self) -> Need:
        return Need.OLD

    def prepare(self, c: Candidates) -> Candidates:
        return c.weighted(getattr(weights, self.advantage))

    def still(self, c: Candidates) -> Tensor:
        return c.weightless

    def __call__(self, c: Candidates) -> Loss:
        weight, old = c.prepared_weight, c.old
        term, took = surrogates.capped(c.logp, old, weight, cap=self.cap)
        mean = c.token_mean if self.per == "token" else c.completion_mean
        tokens = c.tokens
        stats = {"capped": Mean.of(took, tokens), "ratio": Mean.of(surrogates.ratio(c.logp, old), tokens)}
        return Loss(-mean(term), stats)
