"""Reward models: a scalar head that ranks responses as people did."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional.returns import at_last_token
from groupwise.functional.weights import plackett_luce_log_likelihood


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardModel(Objective):
    """A Bradley-Terry reward model (Christiano et al. 2017, arXiv:1706.03741; Ouyang et al. 2022, arXiv:2203.02155).

        L = - log s(R_w - R_l - m) + center (R_w + R_l)^2           s the logistic function
        m = margin + margin_per_score (r_w - r_l)                   (Llama 2, arXiv:2307.09288, 3.2.2)

    R is what the model's scalar head says at the response's last token. A group of K > 2 gives all its ordered
    pairs: mean over the group's pairs, then groups. `ranking="plackett_luce"` takes the likelihood of the whole
    ranking instead. `center` keeps rewards near 0, which their differences leave free (arXiv:2312.09244).
    """

    ranking: Literal["pairs", "plackett_luce"] = "pairs"  # what is likely: each pair, or the ranking of a group
    margin: float = 0.0  # by how much the better one should lead
    margin_per_score: float = 0.0  # and by how much more for each unit between the scores
    center: float = 0.0  # pull of the rewards to 0; 0.01 is usual

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("margin", "margin_per_score", "center", zero=True)
        for name in ("margin", "margin_per_score"):
            self._check_effect(name, self.ranking == "pairs", f'ranking="{self.ranking}"')

    @property
    def needs(self) -> Need:
        return Need.VALUE

    def __call__(self, c: Candidates) -> Loss:
        value = c.require("value", "reward_model")
        reward: Tensor = at_last_token(value.new_ones(len(value)), c.mask).mul(value).sum(-1)
        better, worse = c.pairs()
        center = self.center * (reward[better] + reward[worse]) ** 2
        if self.ranking == "plackett_luce":
            nll = -plackett_luce_log_likelihood(c.counted_score, c.group, reward)
            part = c.pair_loss(center, reward, better, worse)
            return Loss(c.paired_mean(nll) + part.loss, {**part.stats, "loss": Mean.of(nll, c.counted)})
        lead = reward[better] - reward[worse]
        m = self.margin + self.margin_per_score * (c.score[better] - c.score[worse]).to(lead.dtype)
        e = c.doubt(better, worse)
        loss = -(1 - e) * logsigmoid(lead - m) - e * logsigmoid(-lead - m) + center
        return c.pair_loss(loss, reward, better, worse)
