"""ListNet: the policy's distribution over a group drawn to that of the scores."""

from dataclasses import dataclass

import torch

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional import weights
from groupwise.functional.groups import group_logsumexp, has_signal
from groupwise.functional.logprobs import Length, length_normalized


@dataclass(frozen=True, kw_only=True, slots=True)
class ListNet(Objective):
    """ListNet's top-one cross-entropy (Cao et al. 2007) on implicit rewards.

        S_i = beta (l_i - l_ref_i)
        L   = - sum_i softmax(r / temperature)_i log softmax(S)_i          mean over groups

    Unlike Plackett-Luce it reads how far apart the scores are. A group of equal scores teaches nothing.
    """

    beta: float = 0.1  # strength of the pull to the reference; usual 0.01 .. 0.5
    temperature: float = 1.0  # of the scores, in their own units; low: only the best one counts
    length: Length = "sum"  # how a response's log-probability is normalised
    alpha: float = 1.0  # exponent or slope of length="power" / "linear"

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("beta", "temperature")
        self._check_length()

    @property
    def needs(self) -> Need:
        return Need.REF

    def __call__(self, c: Candidates) -> Loss:
        log_ratio = c.logp - c.require("logp_ref", "listnet")
        strength = self.beta * length_normalized(log_ratio, c.mask, self.length, self.alpha)
        score = c.counted_score
        target = weights.softmax(score, c.group, temperature=self.temperature)
        present = torch.where(c.counted, strength, -torch.inf)
        log_chance = strength - group_logsumexp(present, c.group)
        loss = torch.where(has_signal(score, c.group), -target * log_chance, 0.0)
        better, worse = c.pairs()
        margin = strength[better] - strength[worse]
        stats = {"margin": Mean.of(margin), "accuracy": Mean.of((margin > 0).float())}
        return Loss(c.paired_mean(loss), stats)
