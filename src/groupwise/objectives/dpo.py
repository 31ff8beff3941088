"""Direct preference optimisation."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from groupwise.candidates import Candidates, Loss, Need, Objective
from groupwise.errors import ConfigError, DataError
from groupwise.functional.logprobs import Length, length_normalized


@dataclass(frozen=True, kw_only=True, slots=True)
class DPO(Objective):
    """Direct preference optimisation (Rafailov et al. 2023, arXiv:2305.18290).

        h_i = beta (l_i - l_ref_i)                                         the implicit reward
        m   = h_w - h_l
        L   = - (1 - e) log s(m) - e log s(-m)                             s the logistic function

    `l` is the sum of a response's token log-probabilities, as in the paper; `length="mean"` divides by
    its tokens. A group of K > 2 gives all its ordered pairs: mean over the group's pairs, then over groups.
    e > 0 is conservative DPO; a pair's own confidence, where the data has one, takes its place as 1 - e.
    `loss="robust"` is unbiased under that noise, (- (1 - e) log s(m) + e log s(-m)) / (1 - 2 e)
    (arXiv:2403.00409); `"hinge"` costs max(0, 1 - m) (SLiC, arXiv:2305.10425).
    """

    beta: float = 0.1  # strength of the pull to the reference; usual 0.01 .. 0.5
    label_smoothing: float = 0.0  # e: probability that a label is wrong (conservative DPO), in [0, 0.5)
    loss: Literal["sigmoid", "hinge", "robust"] = "sigmoid"  # what a margin costs
    length: Length = "sum"  # how a response's log-probability is normalised
    alpha: float = 1.0  # exponent or slope of length="power" / "linear"

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("beta")
        self._check_length()
        if not 0 <= self.label_smoothing < 0.5:
            raise ConfigError(f"dpo.label_smoothing = {self.label_smoothing}, must be in [0, 0.5)")

    @property
    def needs(self) -> Need:
        return Need.REF

    def __call__(self, c: Candidates) -> Loss:
        log_ratio = c.logp - c.require("logp_ref", "dpo")
        h = self.beta * length_normalized(log_ratio, c.mask, self.length, self.alpha)
        better, worse = c.pairs()
        margin, e = h[better] - h[worse], c.doubt(better, worse, otherwise=self.label_smoothing)
        return c.pair_loss(self._cost(margin, e), h, better, worse)

    def _cost(self, margin: Tensor, e: Tensor | float) -> Tensor:
        if self.loss == "hinge":
            return (1 - e) * relu(1 - margin) + e * relu(1 + margin)
        if self.loss == "robust":
            if isinstance(e, Tensor) and (e >= 0.5).any():  # a label that says nothing cannot be corrected
                raise DataError(
                    f'Candidates.confidence = {1 - e.max().item():g}, must be above 0.5 with dpo.loss = "robust": '
                    'leave such pairs out, or use loss="sigmoid"'
                )
            return (e * logsigmoid(-margin) - (1 - e) * logsigmoid(margin)) / (1 - 2 * e)
        return -(1 - e) * logsigmoid(margin) - e * logsigmoid(-margin)
