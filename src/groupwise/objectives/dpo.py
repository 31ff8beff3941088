"""Direct preference optimisation."""

import math
from dataclasses import dataclass

from torch.nn.functional import logsigmoid

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.errors import ConfigError
from groupwise.functional.logprobs import Length, length_normalized


@dataclass(frozen=True, kw_only=True, slots=True)
class DPO(Objective):
    """Direct preference optimisation (Rafailov et al. 2023, arXiv:2305.18290).

        h_i = beta (l_i - l_ref_i)                                         the implicit reward
        L   = - (1 - e) log s(h_w - h_l) - e log s(h_l - h_w)              s the logistic function

    `l` is the sum of a response's token log-probabilities, as in the paper; `length="mean"` divides by
    its tokens. A group of K > 2 gives all its ordered pairs: mean over the group's pairs, then over groups.
    """

    beta: float = 0.1  # strength of the pull to the reference; usual 0.01 .. 0.5
    label_smoothing: float = 0.0  # e: probability that a label is wrong (conservative DPO), in [0, 0.5)
    length: Length = "sum"  # how a response's log-probability is normalised
    alpha: float = 1.0  # exponent or slope of length="power" / "linear"

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        if not 0 < self.beta < math.inf:
            raise ConfigError(f"dpo.beta = {self.beta}, must be above 0 and finite: try 0.1")
        if not 0 <= self.label_smoothing < 0.5:
            raise ConfigError(f"dpo.label_smoothing = {self.label_smoothing}, must be in [0, 0.5)")
        if not math.isfinite(self.alpha):
            raise ConfigError(f"dpo.alpha = {self.alpha}, must be finite")
        if self.alpha != 1 and self.length not in ("power", "linear"):
            raise ConfigError(f'dpo.alpha = {self.alpha} has no effect with length="{self.length}": leave it out')

    @property
    def needs(self) -> Need:
        return Need.REF

    def __call__(self, c: Candidates) -> Loss:
        log_ratio = c.logp - c.require("logp_ref", "dpo")
        h = self.beta * length_normalized(log_ratio, c.mask, self.length, self.alpha)
        better, worse = c.pairs()
        margin = h[better] - h[worse]
        e = self.label_smoothing
        loss = -(1 - e) * logsigmoid(margin) - e * logsigmoid(-margin)
        stats = {
            "loss": Mean.of(loss),
            "margin": Mean.of(margin),
            "accuracy": Mean.of((margin > 0).float()),
            "reward_better": Mean.of(h[better]),
            "reward_worse": Mean.of(h[worse]),
        }
        return Loss(c.pair_mean(loss, better), stats)
