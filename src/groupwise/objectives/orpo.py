"""Odds ratio preference optimisation: preferences without a reference, beside fine-tuning on the chosen."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from groupwise.candidates import Candidates, Loss, Mean, Objective
from groupwise.functional.logprobs import log1mexp, sequence_mean


@dataclass(frozen=True, kw_only=True, slots=True)
class ORPO(Objective):
    """Odds ratio preference optimisation (Hong et al. 2024, arXiv:2403.07691).

        p_i    = l_i / T_i                                   log of the response's mean probability
        odds_i = p_i - log(1 - exp(p_i))
        L      = - p_w - lam log s(odds_w - odds_l)          s the logistic function

    Reads no reference. A group of K > 2 gives all its ordered pairs: mean over the group's pairs, then groups.
    """

    lam: float = 0.1  # weight of the odds ratio beside fine-tuning on the better response

    def __post_init__(self) -> None:
        self._check_positive("lam", zero=True)

    def __call__(self, c: Candidates) -> Loss:
        p = sequence_mean(c.logp, c.mask)
        odds = self._log_odds(p)
        better, worse = c.pairs()
        margin, e = odds[better] - odds[worse], c.doubt(better, worse)
        ranking = -(1 - e) * logsigmoid(margin) - e * logsigmoid(-margin)
        tuning = -(1 - e) * p[better] - e * p[worse]
        loss = tuning + self.lam * ranking
        stats = {
            "loss": Mean.of(loss),
            "nll": Mean.of(-p[better]),
            "odds_ratio": Mean.of(ranking),
            "margin": Mean.of(margin),
            "accuracy": Mean.of((margin > 0).float()),
        }
        return Loss(c.pair_mean(loss, better), stats)

    @staticmethod
    def _log_odds(p: Tensor) -> Tensor:
        p = p.clamp(max=-torch.finfo(p.dtype).eps)  # a certain response has infinite odds
        return p - log1mexp(p)
