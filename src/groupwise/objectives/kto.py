"""Kahneman-Tversky optimisation: learning from thumbs up and down."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.functional.logprobs import sequence_sum


@dataclass(frozen=True, kw_only=True, slots=True)
class KTO(Objective):
    """Kahneman-Tversky optimisation (Ethayarajh et al. 2024, arXiv:2402.01306).

        h_i = l_i - l_ref_i
        z0  = max(0, mean of h over the step's mismatched rows), detached
        L   = mean over the step of   lambda_desirable   (1 - s(beta (h - z0)))     where score > 0
                                      lambda_undesirable (1 - s(beta (z0 - h)))     elsewhere

    A thumb is a group of one; s is the logistic function. Mismatched rows carry another row's answer under this row's
    prompt: they estimate KL(pi || ref) and count for z0 only. `z0="zero"` leaves it out. With n_D desirable and
    n_U undesirable rows the paper advises lambda_D n_D / (lambda_U n_U) in [1, 4/3].
    """

    takes: ClassVar[Literal["comparisons", "demonstrations", "thumbs"]] = "thumbs"
    rowwise = True

    beta: float = 0.1  # strength of the pull to the reference; usual 0.01 .. 0.5
    lambda_desirable: float = 1.0  # weight of thumbs up
    lambda_undesirable: float = 1.0  # weight of thumbs down
    z0: Literal["mismatched", "zero"] = "mismatched"  # the point that gains and losses are measured from

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("beta", "lambda_desirable", "lambda_undesirable")

    @property
    def needs(self) -> Need:
        return Need.REF | (Need.CURRENT | Need.MISMATCHED if self.z0 == "mismatched" else Need.NONE)

    def prepare(self, c: Candidates) -> Candidates:
        c = c.whole_step()
        z0 = c.logp.new_zeros(())
        if self.z0 == "mismatched":
            mismatched = c.require("mismatched", "kto")
            if not mismatched.any():
                raise ValueError("kto reads mismatched rows for z0, and this step has none: two prompts are needed")
            z0 = self._log_ratio(c)[mismatched].mean().clamp(min=0.0)
        return replace(c, baseline=z0.detach().expand(len(c.logp)))

    def __call__(self, c: Candidates) -> Loss:
        z0 = c.baseline
        assert z0 is not None, "call objective(objective.prepare(c))"
        h = self._log_ratio(c)
        up = self.lambda_desirable * torch.sigmoid(self.beta * (z0 - h))  # 1 - s(x) = s(-x)
        down = self.lambda_undesirable * torch.sigmoid(self.beta * (h - z0))
        e = 0.0 if c.confidence is None else 1 - c.confidence
        liked = c.score > 0
        loss = (1 - e) * torch.where(liked, up, down) + e * torch.where(liked, down, up)
        stats = {
            "loss": Mean.of(loss, c.counted),
            "reward_desirable": Mean.of(self.beta * h, c.counted & liked),
            "reward_undesirable": Mean.of(self.beta * h, c.counted & ~liked),
            "z0": Mean.of(z0, c.counted),
        }
        return Loss(c.completion_mean(loss), stats)

    @staticmethod
    def _log_ratio(c: Candidates) -> Tensor:
        return sequence_sum(c.logp - c.require("logp_ref", "kto"), c.mask)
