"""Rank responses to align with human feedback: mean log-probabilities in the order of the scores."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch.nn.functional import logsigmoid, relu

from groupwise.candidates import Candidates, Loss, Mean, Objective
from groupwise.functional.groups import best_of_group, group_sum, has_signal
from groupwise.functional.logprobs import length_normalized, sequence_mean


@dataclass(frozen=True, kw_only=True, slots=True)
class RRHF(Objective):
    """Rank responses to align human feedback (Yuan et al. 2023, arXiv:2304.05302).

        p_i = l_i / T_i
        L   = sum over r_i > r_j of max(0, p_j - p_i)  -  sft l_best          mean over groups

    `margin="logistic"` is the smooth variant: - log s(p_i - p_j), averaged over K (K - 1). The fine-tuning term
    is the sum over the best response's tokens, as in the paper; `sft_length="mean"` divides by them. Several best
    ones share it. A group of equal scores has no best one and no pair.
    """

    sft: float = 1.0  # weight of fine-tuning on the group's best response; 0: ranking alone
    margin: Literal["hinge", "logistic"] = "hinge"  # what a pair in the wrong order costs
    sft_length: Literal["sum", "mean"] = "sum"  # how the best response's log-probability is normalised

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("sft", zero=True)
        self._check_effect("sft_length", self.sft > 0, "sft=0")

    def __call__(self, c: Candidates) -> Loss:
        p = sequence_mean(c.logp, c.mask)
        better, worse = c.pairs()
        margin = p[better] - p[worse]
        cost = relu(-margin)
        if self.margin == "logistic":
            size = group_sum(c.counted.to(p.dtype), c.group)[better]
            cost = -logsigmoid(margin) / (size * (size - 1))
        score = c.counted_score
        best = best_of_group(score, c.group) & has_signal(score, c.group)
        share = best / group_sum(best.to(p.dtype), c.group).clamp(min=1)
        nll = -length_normalized(c.logp, c.mask, self.sft_length)
        ranking = torch.zeros_like(p).index_add(0, better, cost)
        stats = {
            "ranking": Mean.of(cost),
            "nll": Mean.of(-p, best),
            "margin": Mean.of(margin),
            "accuracy": Mean.of((margin > 0).float()),
        }
        return Loss(c.paired_mean(ranking + self.sft * share * nll), stats)
