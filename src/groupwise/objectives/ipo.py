"""Identity preference optimisation."""

from dataclasses import dataclass
from typing import Literal

from groupwise.candidates import Candidates, Loss, Need, Objective
from groupwise.functional.logprobs import length_normalized


@dataclass(frozen=True, kw_only=True, slots=True)
class IPO(Objective):
    """Identity preference optimisation (Azar et al. 2023, arXiv:2310.12036).

        h_i = l_i - l_ref_i
        L   = ((h_w - h_l) - 1 / (2 tau))^2

    `l` is the sum of a response's token log-probabilities, as in the paper; `length="mean"` is what other
    libraries do, and needs another tau. `separate=True` draws each ratio to its own target:

        L   = (h_w - 1 / (2 tau))^2 + (h_l + 1 / (2 tau))^2

    A label that is wrong with probability e counts as (1 - e) times itself and e times its opposite.
    """

    tau: float = 0.1  # strength of the pull to the reference: the margin aimed at is 1 / (2 tau)
    length: Literal["sum", "mean"] = "sum"  # how a response's log-probability is normalised
    separate: bool = False  # each ratio has its own target, instead of their difference

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("tau")

    @property
    def needs(self) -> Need:
        return Need.REF

    def __call__(self, c: Candidates) -> Loss:
        h = length_normalized(c.logp - c.require("logp_ref", "ipo"), c.mask, self.length)
        better, worse = c.pairs()
        margin, target, e = h[better] - h[worse], 1 / (2 * self.tau), c.doubt(better, worse)
        if self.separate:
            right = (h[better] - target) ** 2 + (h[worse] + target) ** 2
            wrong = (h[worse] - target) ** 2 + (h[better] + target) ** 2
        else:
            right, wrong = (margin - target) ** 2, (margin + target) ** 2
        loss = (1 - e) * right + e * wrong
        return c.pair_loss(loss, h, better, worse)
