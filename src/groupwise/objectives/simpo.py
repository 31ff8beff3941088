"""Simple preference optimisation: mean log-probabilities with a margin, no reference."""

from dataclasses import dataclass

from torch.nn.functional import logsigmoid

from groupwise.candidates import Candidates, Loss, Objective
from groupwise.functional.logprobs import sequence_mean


@dataclass(frozen=True, kw_only=True, slots=True)
class SimPO(Objective):
    """Simple preference optimisation (Meng et al. 2024, arXiv:2405.14734).

        L = - log s(beta (l_w / T_w - l_l / T_l) - gamma)           s the logistic function

    Reads no reference. A group of K > 2 gives all its ordered pairs: mean over the group's pairs, then groups.
    """

    beta: float = 2.0  # scale of the mean log-probabilities; the paper uses 2.0 .. 10
    gamma: float = 1.0  # margin aimed at; the paper uses 0.3 .. 1.6, about half of beta or less

    def __post_init__(self) -> None:
        self._check_positive("beta")
        self._check_positive("gamma", zero=True)

    def __call__(self, c: Candidates) -> Loss:
        h = self.beta * sequence_mean(c.logp, c.mask)
        better, worse = c.pairs()
        margin, e = h[better] - h[worse], c.doubt(better, worse)
        loss = -(1 - e) * logsigmoid(margin - self.gamma) - e * logsigmoid(-margin - self.gamma)
        return c.pair_loss(loss, h, better, worse)
