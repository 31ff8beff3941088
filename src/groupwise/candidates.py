"""The nouns: what a group is, what an objective reads, and what it returns.

Legend: N completions ("rows") of G groups, T response tokens (padded). A row belongs to the group whose
id stands in `group`; groups may differ in size. `[N, T]` holds log-probabilities only: the forward pass
is packed, its result is scattered.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Flag, auto
from typing import Any, ClassVar, Literal, get_args, get_origin

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from groupwise.errors import ConfigError
from groupwise.functional import groups

FinishReason = Literal["stop", "stop_string", "length", "given"]
Prompt = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One candidate response, its tokens exactly as sampled (the end token included if it was produced)."""

    token_ids: tuple[int, ...]
    text: str
    score: float | None = None  # None: could not be judged
    confidence: float | None = None  # probability that its score says rightly whether it is better; None: not said
    unjudged: str = ""  # why, where the reward failed and the run goes on
    score_parts: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[tuple[int, float], ...] = ()  # of a process reward: (token that ends the step, its reward)
    logprobs: tuple[float, ...] | None = None  # of the distribution really sampled from; None for given text
    finish_reason: FinishReason = "given"
    trained: tuple[bool, ...] | None = None  # which tokens are trained; None: all

    def __post_init__(self) -> None:
        for name in ("logprobs", "trained"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self.token_ids):
                raise ValueError(f"Completion.{name} has {len(value)} entries for {len(self.token_ids)} token_ids")
        for end, _ in self.steps:
            if not 0 <= end < len(self.token_ids):
                raise ValueError(f"Completion.steps has a step that ends at token {end} of {len(self.token_ids)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A prompt and its candidate completions."""

    prompt_ids: tuple[int, ...]
    completions: tuple[Completion, ...]
    prompt: Prompt = ""  # text or chat messages, as the reward and the run directory show it
    row: Mapping[str, Any] = field(default_factory=dict)  # the data row: answers and whatever else it holds
    origin: str = ""  # where it came from, "file.jsonl:17"


def why_unjudged(groups: Sequence[Group]) -> str:
    """Why the first completion without a score has none."""
    for group in groups:
        for k, completion in enumerate(group.completions):
            if completion.score is None:
                return f"{group.origin or 'a group'} completion {k}: {completion.unjudged or 'no score was given'}"
    return ""


class Need(Flag):
    """What an objective reads beyond `logp`, `mask`, `group` and `score`."""

    NONE = 0
    OLD = auto()  # logp_old: the policy that sampled
    REF = auto()  # logp_ref: the frozen reference
    VALUE = auto()  # value, value_old: a critic
    MISMATCHED = auto()  # rows with another prompt's answer
    CURRENT = auto()  # logp already in `prepare`: the policy's before the step, without gradient


@dataclass(frozen=True, slots=True)
class Mean:
    """A sum and a count: adds over micro-batches and ranks, divides once."""

    total: float
    count: float

    @classmethod
    def of(cls, value: Tensor, where: Tensor | None = None) -> "Mean":
        """Mean of `value` over the True places of `where` (all places if None)."""
        value = value.detach().double()
        if where is None:
            return cls(value.sum().item(), value.numel())
        value = value + torch.zeros_like(where, dtype=value.dtype)
        where = where.expand_as(value)
        return cls(torch.where(where, value, 0.0).sum().item(), where.sum().item())

    def __add__(self, other: "Mean") -> "Mean":
        return Mean(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """total / count; NaN for nothing."""
        return self.total / self.count if self.count else float("nan")


@dataclass(frozen=True, slots=True)
class Totals:
    """The denominators of one optimizer step: over all its micro-batches and ranks, never over a part.

    Only rows that count are counted: not mismatched, and with a score that is a number.
    """

    completions: int  # rows
    tokens: int  # their tokens under the mask
    groups: int  # groups with a row that counts
    paired: int  # groups that hold at least one pair of different scores
    longest: int  # tokens of the longest row


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """N completions of G groups as tensors; everything an objective may read.

    Made safe on construction: half precision becomes float32, and what stands under a False of `mask`
    is replaced by 0, so that padding can hold anything and is never read. `score` NaN means "could not be
    judged": the row is in no statistic and no denominator, and gets no gradient. `logp_old=None` says
    that the policy has not moved since it sampled: the ratio is exactly 1.
    """

    logp: Float[Tensor, "N T"]
    mask: Bool[Tensor, "N T"]
    group: Int[Tensor, "N"]
    score: Float[Tensor, "N"]
    logp_old: Float[Tensor, "N T"] | None = None
    logp_ref: Float[Tensor, "N T"] | None = None
    value: Float[Tensor, "N T"] | None = None
    value_old: Float[Tensor, "N T"] | None = None
    weight: Float[Tensor, "N *T"] | None = None  # set by `Objective.prepare`; [N, 1] or [N, T]
    mismatched: Bool[Tensor, "N"] | None = None  # rows that carry another prompt's answer
    confidence: Float[Tensor, "N"] | None = None  # probability that the row's label is right
    token_score: Float[Tensor, "N T"] | None = None  # rewards of steps, at each step's last token; NaN elsewhere
    value_target: Float[Tensor, "N T"] | None = None  # set by `prepare` of a method with a critic
    baseline: Float[Tensor, "N"] | None = None  # set by `prepare`: the reference point that a row is measured from
    totals: Totals | None = None  # None: these rows are the whole step

    def __post_init__(self) -> None:
        for name in ("mask", "mismatched"):
            value = getattr(self, name)
            if value is not None and value.dtype != torch.bool:
                raise TypeError(f"Candidates.{name} has dtype {value.dtype}, must be torch.bool: use {name}.bool()")
        for item in fields(self):
            value = getattr(self, item.name)
            if not isinstance(value, Tensor):
                continue
            if len(value) != len(self.logp):
                raise ValueError(f"Candidates.{item.name} has {len(value)} rows, logp has {len(self.logp)}")
            if value.is_floating_point() and value.element_size() < 4:
                value = value.float()
            if value.ndim == 2 and value.shape != self.mask.shape and (item.name != "weight" or value.shape[1] != 1):
                shapes = f"{list(value.shape)}, mask has {list(self.mask.shape)}"
                raise ValueError(f"Candidates.{item.name} has shape {shapes}: every [N, T] tensor has the mask's shape")
            if value.is_floating_point() and value.shape == self.mask.shape:
                value = torch.where(self.mask, value, torch.nan if item.name == "token_score" else 0.0)
            object.__setattr__(self, item.name, value)

    @property
    def counted(self) -> Bool[Tensor, "N"]:
        """Rows that count: judged and not mismatched."""
        judged = groups.judged(self.score)
        return judged if self.mismatched is None else judged & ~self.mismatched

    @property
    def counted_score(self) -> Float[Tensor, "N"]:
        """The scores of the rows that count, NaN elsewhere: what weights and pairs are made of."""
        return torch.where(self.counted, self.score, torch.nan)

    @property
    def tokens(self) -> Bool[Tensor, "N T"]:
        """Tokens that count: under the mask, of rows that count."""
        return self.mask & self.counted[:, None]

    @property
    def old(self) -> Float[Tensor, "N T"]:
        """`logp_old`, or the policy's own log-probabilities, detached, where it has not moved: the ratio is then 1."""
        return self.logp.detach() if self.logp_old is None else self.logp_old

    @property
    def prepared_weight(self) -> Float[Tensor, "N *T"]:
        """`weight`, which `Objective.prepare` fills in."""
        assert self.weight is not None, "call objective(objective.prepare(c))"
        return self.weight

    @property
    def weightless(self) -> Bool[Tensor, "N"]:
        """Rows whose weight, as `Objective.prepare` set it, is exactly 0 at every token."""
        return (self.prepared_weight == 0).all(-1)

    def weighted(self, rule: Callable[[Tensor, Tensor], Tensor]) -> "Candidates":
        """The step with the weights that `rule` gives the scores that count, group by group; one a row."""
        weight = rule(self.counted_score, self.group)
        return replace(self.whole_step(), weight=weight[:, None].to(self.logp.dtype))

    def whole_step(self) -> "Candidates":
        """The same rows with `totals` filled in; unchanged if they already are."""
        if self.totals is not None:
            return self
        counted = self.counted
        length = self.mask[counted].sum(-1)
        better, _ = self.pairs()
        totals = Totals(
            completions=len(length),
            tokens=int(length.sum()),
            groups=len(torch.unique(self.group[counted])),
            paired=len(torch.unique(self.group[better])),
            longest=int(length.max()) if len(length) else 0,
        )
        return replace(self, totals=totals)

    def rows(self, index: Tensor | Sequence[int]) -> "Candidates":
        """These rows of the step, still divided by the whole step's totals."""
        step = self.whole_step()
        if not isinstance(index, Tensor):
            index = torch.tensor(index, dtype=torch.long, device=self.logp.device)
        tensors = {f.name: getattr(step, f.name) for f in fields(step) if isinstance(getattr(step, f.name), Tensor)}
        return replace(step, **{name: value[index] for name, value in tensors.items()})

    def require(self, name: str, objective: str) -> Tensor:
        """The tensor `name`; ValueError if it is None."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{objective} reads Candidates.{name}, which is None: pass it, or let `annotate` add it")
        assert isinstance(value, Tensor)
        return value

    # The means of a step. Each returns this part's share of it: the shares of all parts add up.

    def token_mean(self, value: Float[Tensor, "N T"]) -> Float[Tensor, ""]:
        """Mean over all tokens of the step."""
        return torch.where(self.tokens, value, 0.0).sum() / max(self._totals.tokens, 1)

    def completion_mean(self, value: Float[Tensor, "N *T"]) -> Float[Tensor, ""]:
        """Mean over the step's completions; of each row's mean over its tokens if `value` is `[N, T]`."""
        if value.ndim == 2:
            value = torch.where(self.mask, value, 0.0).sum(-1) / self.mask.sum(-1).clamp(min=1)
        return torch.where(self.counted, value, 0.0).sum() / max(self._totals.completions, 1)

    def constant_mean(self, value: Float[Tensor, "N T"], length: int | None = None) -> Float[Tensor, ""]:
        """Sum over tokens / (completions x length); `length=None` takes the step's longest row."""
        denominator = self._totals.completions * (length or self._totals.longest)
        return torch.where(self.tokens, value, 0.0).sum() / max(denominator, 1)

    def pair_mean(self, value: Float[Tensor, "M"], better: Int[Tensor, "M"]) -> Float[Tensor, ""]:
        """Mean over each group's pairs, then over the step's groups that have one; `better` as from `pairs()`."""
        of_group = self.group[better]
        share = groups.group_sum(torch.ones_like(value), of_group)
        return (value / share).sum() / max(self._totals.paired, 1)

    def per_group(self, value: Float[Tensor, "N"]) -> Float[Tensor, ""]:
        """Sum within each group, mean over the step's groups."""
        return torch.where(self.counted, value, 0.0).sum() / max(self._totals.groups, 1)

    def paired_mean(self, value: Float[Tensor, "N"]) -> Float[Tensor, ""]:
        """Sum within each group, mean over the step's groups that hold a pair; `value` is 0 in the others."""
        return torch.where(self.counted, value, 0.0).sum() / max(self._totals.paired, 1)

    def pair_loss(
        self, loss: Float[Tensor, "M"], reward: Float[Tensor, "N"], better: Int[Tensor, "M"], worse: Int[Tensor, "M"]
    ) -> "Loss":
        """The `pair_mean` of a loss a pair, and what to log of the rewards that it compares."""
        margin = reward[better] - reward[worse]
        stats = {
            "loss": Mean.of(loss),
            "margin": Mean.of(margin),
            "accuracy": Mean.of((margin > 0).float()),
            "reward_better": Mean.of(reward[better]),
            "reward_worse": Mean.of(reward[worse]),
        }
        return Loss(self.pair_mean(loss, better), stats)

    def doubt(self, better: Int[Tensor, "M"], worse: Int[Tensor, "M"], otherwise: float = 0.0) -> Tensor | float:
        """The probability that a pair's label is wrong: 1 - the lower confidence of its rows, `otherwise` without."""
        if self.confidence is None:
            return otherwise
        return 1 - torch.minimum(self.confidence[better], self.confidence[worse])

    def pairs(self) -> tuple[Int[Tensor, "M"], Int[Tensor, "M"]]:
        """Ordered pairs (better, worse) among the rows that count."""
        return groups.pairs(self.counted_score, self.group)

    @property
    def _totals(self) -> Totals:
        return self.totals or self.whole_step()._totals


@dataclass(frozen=True, slots=True)
class Loss:
    """A differentiable scalar and what to log beside it."""

    loss: Float[Tensor, ""]
    stats: Mapping[str, Mean] = field(default_factory=dict)


class Objective(ABC):
    """Scores to weights, weights times a surrogate, a pull toward a reference.

    A method is one frozen, keyword-only, final dataclass. `prepare` runs once a step over all its rows,
    without gradient; the call runs once for every micro-batch and returns that part's share of the loss.
    """

    __slots__ = ()
    takes: ClassVar[Literal["comparisons", "demonstrations", "thumbs"]] = "comparisons"  # what given data must hold
    rowwise: ClassVar[bool] = (
        False  # whether, once prepared, a row's share of the loss is its own: see train/gradient.py
    )

    def __post_init__(self) -> None:
        """ConfigError for a value outside its field's choices; a method with checks of its own calls this first."""
        for item in fields(self):  # type: ignore[arg-type]  # every method is a dataclass; this base has no fields
            value, choices = getattr(self, item.name), get_args(item.type)
            if get_origin(item.type) is Literal and value not in choices:
                raise ConfigError(
                    f"{self._method}.{item.name} = {value!r}, must be one of {', '.join(map(repr, choices))}"
                )

    @property
    def _method(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    def _check_positive(self, *names: str, zero: bool = False) -> None:
        """ConfigError unless these fields are finite and above 0, or `zero`."""
        for name in names:
            value = getattr(self, name)
            if not (0 < value < math.inf or (zero and value == 0)):
                rule = "0 or more" if zero else "above 0"
                raise ConfigError(f"{self._method}.{name} = {value}, must be {rule} and finite")

    def _check_effect(self, name: str, has_effect: bool, why: str) -> None:
        """ConfigError if a field was set that has no effect with the other settings."""
        default = next(f.default for f in fields(self) if f.name == name)  # type: ignore[arg-type]  # as above
        if getattr(self, name) != default and not has_effect:
            value = getattr(self, name)
            raise ConfigError(f"{self._method}.{name} = {value!r} has no effect with {why}: leave it out")

    def _check_length(self) -> None:
        """For methods with `length` and `alpha`."""
        alpha, length = getattr(self, "alpha", 1.0), getattr(self, "length", "sum")
        if not math.isfinite(alpha):
            raise ConfigError(f"{self._method}.alpha = {alpha}, must be finite")
        self._check_effect("alpha", length in ("power", "linear"), f'length="{length}"')

    @property
    def needs(self) -> Need:
        """What it reads beyond logp, mask, group and score."""
        return Need.NONE

    def prepare(self, c: Candidates) -> Candidates:
        """Fill in the step's totals, and the weights where the method states them."""
        return c.whole_step()

    @abstractmethod
    def __call__(self, c: Candidates) -> Loss:
        """The loss of these rows, divided by the whole step's totals."""

    def still(self, c: Candidates) -> Bool[Tensor, "N"]:
        """Rows of a prepared step that get no gradient whatever the policy says of them: they are not computed."""
        return torch.zeros_like(c.counted)

    def after_step(self, stats: Mapping[str, Mean]) -> "Objective":
        """The objective of the next step, told this one's statistics; the same where nothing adapts."""
        return self


def implied_weights(objective: Objective, c: Candidates) -> Float[Tensor, "N T"]:
    """-dL/dlogp: how hard an objective pushes each token up, whatever its formula.

    Backpropagating `-(implied_weights * logp).sum()` gives the same parameter gradient as the loss
    itself, so the weights of DPO, RRHF and GRPO can be read side by side. `c` as from `prepare`.
    """
    logp = c.logp.detach().clone().requires_grad_()
    with torch.enable_grad():
        loss = objective(replace(c, logp=logp)).loss
    if not loss.requires_grad:
        return torch.zeros_like(logp)
    (gradient,) = torch.autograd.grad(loss, logp, allow_unused=True)
    return torch.zeros_like(logp) if gradient is None else -gradient
