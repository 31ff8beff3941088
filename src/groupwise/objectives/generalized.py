"""The generalised form: any weights, on any surrogate, with a pull toward the reference."""

import warnings
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from groupwise.candidates import Candidates, Loss, Mean, Need, Objective
from groupwise.errors import ConfigError
from groupwise.functional import divergences, surrogates, weights
from groupwise.functional.groups import judged
from groupwise.functional.logprobs import Length, length_normalized

OF_STRENGTH = ("pairwise", "plackett_luce", "listwise")  # weights of the policy's own scores S, as it stands
EVERY_GROUP = ("score", "softmax", "listwise")  # weights that a group without a better and a worse has too


@dataclass(frozen=True, kw_only=True, slots=True)
class Generalized(Objective):
    """Detached weights times a surrogate, summed over a group, with a pull toward the reference.

        S_i = beta (norm(l_i) - norm(l_ref_i))
        w   = weights(r, S)                                     detached
        f   = logp,  or  min(rho, clip(rho, 1 - low, 1 + high)) with the sign of w;   rho = exp(logp - anchor)
        L   = - mean over groups of sum_i w_i norm(f)_i  +  kl_coef KL(pi || ref)

    Special cases, equal in gradient: `weights="pairwise"` with K = 2 is DPO; `"plackett_luce"` the listwise
    objective; `"standardized"` with `surrogate="clipped"`, `length="mean"`, `per="completion"` GRPO; `"score"` with
    scores of 1 and 0 and `length="mean"` SFT on the ones; each with `kl_coef=0`.

    `weights="listwise"`, softmax(S), reads no score: it sharpens what the policy already prefers.
    """

    weights: Literal[
        "pairwise",
        "plackett_luce",
        "listwise",
        "top_k",
        "score",
        "softmax",
        "centered",
        "standardized",
        "batch_standardized",
        "leave_one_out",
        "ranked",
    ] = "pairwise"  # how scores become weights
    surrogate: Literal["log_prob", "clipped"] = "log_prob"  # what the weights are put on
    anchor: Literal["old", "reference"] = "old"  # what the clipped ratio is taken to
    length: Length = "sum"  # how a response's terms and log-probabilities are normalised
    alpha: float = 1.0  # exponent or slope of length="power" / "linear"
    beta: float = 1.0  # scale of S, or of the scores in weights="softmax"
    k: int = 1  # for weights="top_k": how many are pushed up
    rho: float = 0.0  # for weights="top_k": how hard the rest is pushed down
    clip_low: float = 0.2  # the ratio is held above 1 - clip_low where the weight is negative
    clip_high: float = 0.2  # and below 1 + clip_high where it is positive
    kl_coef: float = 0.05  # strength of the pull to the reference
    kl: Literal["k1", "k2", "k3"] = "k3"  # KL estimator; k1 has no expected gradient as a loss
    per: Literal["group", "completion", "token"] = "group"  # what counts the same in the mean

    def __post_init__(self) -> None:
        Objective.__post_init__(self)
        self._check_positive("beta")
        self._check_positive("kl_coef", "rho", "clip_low", "clip_high", zero=True)
        self._check_length()
        if not self.k >= 1:
            raise ConfigError(f"generalized.k = {self.k}, must be 1 or more")
        for name in ("k", "rho"):
            self._check_effect(name, self.weights == "top_k", f'weights="{self.weights}"')
        for name in ("anchor", "clip_low", "clip_high"):
            self._check_effect(name, self.surrogate == "clipped", f'surrogate="{self.surrogate}"')
        self._check_effect("beta", self.weights in (*OF_STRENGTH, "softmax"), f'weights="{self.weights}"')
        self._check_effect("kl", self.kl_coef > 0, "kl_coef=0")
        if self.per == "token" and self.weights not in OF_STRENGTH:
            self._check_effect("length", False, 'per="token"')
        if self.weights == "listwise":
            warnings.warn('generalized.weights = "listwise" reads no score: see its docstring', stacklevel=2)

    @property
    def rowwise(self) -> bool:  # type: ignore[override]  # here it depends on a field
        return self.weights not in OF_STRENGTH

    @property
    def needs(self) -> Need:
        clipped = self.surrogate == "clipped"
        reads_ref = self.kl_coef > 0 or self.weights in OF_STRENGTH or (clipped and self.anchor == "reference")
        reads_old = clipped and self.anchor == "old"
        return (Need.REF if reads_ref else Need.NONE) | (Need.OLD if reads_old else Need.NONE)

    def prepare(self, c: Candidates) -> Candidates:
        return c.whole_step() if self.weights in OF_STRENGTH else c.weighted(self._of_scores)

    def still(self, c: Candidates) -> Tensor:
        return c.weightless if self.rowwise and not self.kl_coef else Objective.still(self, c)

    def __call__(self, c: Candidates) -> Loss:
        weight = self._of_strength(c) if self.weights in OF_STRENGTH else c.prepared_weight
        tokens = c.tokens
        stats = {"weight": Mean.of(weight.abs(), tokens)}
        term = surrogates.log_prob(c.logp, weight)
        if self.surrogate == "clipped":
            term, took = surrogates.clipped(c.logp, self._anchor(c), weight, low=self.clip_low, high=self.clip_high)
            stats["clip_fraction"] = Mean.of(took, tokens)
        loss = -self._mean(c, term)
        if self.kl_coef:
            kl = divergences.ESTIMATORS[self.kl](c.logp, c.require("logp_ref", "generalized"))
            loss = loss + self.kl_coef * (c.token_mean(kl) if self.per == "token" else c.completion_mean(kl))
            stats["kl_ref"] = Mean.of(divergences.k3(c.logp, c.require("logp_ref", "generalized")), tokens)
        return Loss(loss, stats)

    def _of_scores(self, score: Tensor, group: Tensor) -> Tensor:
        if self.weights == "score":
            return torch.where(judged(score), score, 0.0)
        if self.weights == "softmax":
            return weights.softmax(score, group, temperature=1 / self.beta)
        if self.weights == "top_k":
            return weights.top_k(score, group, k=self.k, rho=self.rho)
        found: Tensor = getattr(weights, self.weights)(score, group)
        return found

    def _of_strength(self, c: Candidates) -> Tensor:
        log_ratio = (c.logp - c.require("logp_ref", "generalized")).detach()
        strength = self.beta * length_normalized(log_ratio, c.mask, self.length, self.alpha)
        if self.weights == "listwise":
            return weights.listwise(c.counted_score, c.group, strength)[:, None]
        rule = weights.pairwise if self.weights == "pairwise" else weights.plackett_luce
        return rule(c.counted_score, c.group, strength, beta=self.beta)[:, None]

    def _anchor(self, c: Candidates) -> Tensor:
        return c.require("logp_ref", "generalized") if self.anchor == "reference" else c.old

    def _mean(self, c: Candidates, term: Tensor) -> Tensor:
        if self.per == "token":
            return c.token_mean(term)
        of_row = length_normalized(term, c.mask, "sum" if self.length == "linear" else self.length, self.alpha)
        if self.per == "completion":
            return c.completion_mean(of_row)
        return c.per_group(of_row) if self.weights in EVERY_GROUP else c.paired_mean(of_row)
