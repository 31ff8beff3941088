"""Best of n: fine-tuning on the best of a group's candidates."""

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Objective
from groupwise.errors import ConfigError
from groupwise.functional import weights
from groupwise.functional.logprobs import sequence_mean


@dataclass(frozen=True, kw_only=True, slots=True)
class BestOfN(Objective):
    """Rejection sampling fine-tuning (RAFT, Dong et al. 2023, arXiv:2304.06767).

        w_i = 1/k for the group's k best, else 0
        L   = - sum_i w_i mean_t logp[i, t]                     mean over the groups that have a better and a worse

    Candidates that tie for the last place share its weight. A group of equal scores has no best one.
    """

    rowwise = True

    k: int = 1  # how many of a group's candidates are learned from

    def __post_init__(self) -> None:
        if not self.k >= 1:
            raise ConfigError(f"best_of_n.k = {self.k}, must be 1 or more")

    def prepare(self, c: Candidates) -> Candidates:
        return c.weighted(partial(weights.top_k, k=self.k))

    def still(self, c: Candidates) -> Tensor:
        return c.weightless

    def __call__(self, c: Candidates) -> Loss:
        nll = -sequence_mean(c.logp, c.mask)
        weight = c.prepared_weight[:, 0]
        return Loss(c.paired_mean(weight * nll), {"nll": Mean.of(nll, weight > 0)})
