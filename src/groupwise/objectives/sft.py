"""Supervised fine-tuning: maximum likelihood of the given responses."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from groupwise.candidates import Candidates, Loss, Mean, Objective


@dataclass(frozen=True, kw_only=True, slots=True)
class SFT(Objective):
    """Supervised fine-tuning (cross-entropy on the response tokens).

        L = - mean over tokens of logp                 `per="token"`: every token counts the same
        L = - mean_i mean_t logp[i, t]                 `per="completion"`: every response counts the same

    Reads no score: every completion is a demonstration. Prompt tokens are not trained.
    """

    takes: ClassVar[Literal["comparisons", "demonstrations", "thumbs"]] = "demonstrations"
    rowwise = True

    per: Literal["token", "completion"] = "token"  # what counts the same: each token, or each response

    def __call__(self, c: Candidates) -> Loss:
        mean = c.token_mean if self.per == "token" else c.completion_mean
        stats = {"nll": Mean.of(-c.logp, c.tokens)}
        return Loss(mean(-c.logp), stats)
