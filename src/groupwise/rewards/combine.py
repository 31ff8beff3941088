"""Several rewards as one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from groupwise.config import build
from groupwise.errors import ConfigError
from groupwise.rewards.call import Judgement, score_group


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One of the rewards."""

    name: str  # as a recipe's `reward.name`
    settings: Mapping[str, Any] = field(default_factory=dict)  # its fields
    weight: float = 1.0  # its factor in a sum, its power in a product
    gate: float | None = None  # below this score the whole is worth `closed`, whatever the other parts say
    scale: tuple[float, float] | None = None  # (low, high): scores become (score - low) / (high - low), kept in 0..1
    normalize: Literal["none", "group"] = "none"  # group: less the group's mean, over its standard deviation
    label: str = ""  # what its scores are called in the logs; empty: its name

    def __post_init__(self) -> None:
        if not math.isfinite(self.weight):
            raise ConfigError(f"weight = {self.weight} of the part `{self.name}`, must be finite")
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ConfigError(f"scale = {list(self.scale)} of the part `{self.name}`, must be [low, high], low < high")
        if self.name == "combine":
            raise ConfigError("a part of `combine` is another reward: give its parts here instead")

    @property
    def called(self) -> str:
        """What its scores are called in the logs."""
        return self.label or self.name.rpartition(":")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Combine:
    """Several rewards of one completion as one score: a weighted sum, or a product.

        sum:      score = sum_p weight_p s_p
        product:  score = prod_p s_p ^ weight_p,   for parts from 0 up
        gates:    score = closed  if any part with a gate scores below it

    s_p is the part's score after its `scale` or its `normalize`; a gate looks at the score as given. With
    `normalize: group` it is (s - mean) / std over the judged candidates of the prompt (GDPO, arXiv:2601.05242, does so
    for each reward before the sum), and 0 where all are equal. A completion that one of the parts could not judge has
    no score. Each part's own score is logged by its name.

    Parts with a gate of their own count in the sum too: give them weight 0 to let them only open.
    """

    parts: tuple[Mapping[str, Any], ...]  # a section for each reward: name, settings, weight, gate, scale, normalize
    how: Literal["sum", "product"] = "sum"  # of the parts
    closed: float = 0.0  # the score of a completion that a gate keeps out

    grouped = True

    def __post_init__(self) -> None:
        if not self.parts:
            raise ConfigError("combine.parts is empty: give a section for each reward, such as - name: exact_answer")
        if self.how not in ("sum", "product"):
            raise ConfigError(f"combine.how = {self.how!r}, must be `sum` or `product`")
        labels = [part.called for part in self.build()]
        for label in labels:
            if labels.count(label) > 1:
                raise ConfigError(f"combine.parts: two are called `{label}`; give one of them another `label`")
        if self.how == "product" and any(part.normalize == "group" for part in self.build()):
            raise ConfigError("combine.how = 'product' needs parts from 0 up: normalize `group` makes negative ones")

    def build(self) -> list[Part]:
        """The parts with their fields. Raises ConfigError for one that is wrong."""
        return [build(Part, part, f"parts[{i}]") for i, part in enumerate(self.parts)]

    def __call__(self, row: Mapping[str, Any], texts: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Judge the candidates of one prompt."""
        from groupwise.rewards.load import load_reward

        found = [score_group(load_reward(part.name, **part.settings), row, texts) for part in self.build()]
        return [
            None if judged.score is None else {**judged.parts, "score": judged.score} for judged in self.merge(found)
        ]

    def merge(self, found: Sequence[Sequence[Judgement]]) -> list[Judgement]:
        """One judgement a candidate from one a part and candidate, all of one prompt."""
        parts = self.build()
        scaled = [_scaled(part, [judged.score for judged in column]) for part, column in zip(parts, found, strict=True)]
        return [
            self._one(parts, [column[i] for column in found], [column[i] for column in scaled])
            for i in range(len(found[0]))
        ]

    def _one(self, parts: Sequence[Part], judged: Sequence[Judgement], scores: Sequence[float | None]) -> Judgement:
        error, lost = (next((f for j in judged if (f := getattr(j, name))), "") for name in ("error", "lost"))
        raw = {part.called: j.score for part, j in zip(parts, judged, strict=True) if j.score is not None}
        known = [score for score in scores if score is not None]
        if len(known) < len(parts):
            return Judgement(score=None, parts=raw, error=error, lost=lost)
        steps = next((j.steps for j in judged if j.steps), ())
        if any(part.gate is not None and raw[part.called] < part.gate for part in parts):
            return Judgement(score=self.closed, parts=raw, steps=())
        if self.how == "sum":
            total = sum(part.weight * score for part, score in zip(parts, known, strict=True))
            return Judgement(score=total, parts=raw, steps=steps)
        for part, score in zip(parts, known, strict=True):
            if score < 0 or (score == 0 and part.weight < 0):
                said = f"combine.how = 'product': part `{part.called}` scored {score}; give it a `scale`"
                return Judgement(score=None, parts=raw, error=said)
        product = math.prod(score**part.weight for part, score in zip(parts, known, strict=True))
        return Judgement(score=product, parts=raw, steps=steps)


def _scaled(part: Part, scores: Sequence[float | None]) -> list[float | None]:
    if part.scale is not None:
        low, high = part.scale
        scores = [None if s is None else min(1.0, max(0.0, (s - low) / (high - low))) for s in scores]
    if part.normalize == "none":
        return list(scores)
    known = [s for s in scores if s is not None]
    if not known or max(known) == min(known):
        return [None if s is None else 0.0 for s in scores]
    mean = math.fsum(known) / len(known)
    std = math.sqrt(math.fsum((s - mean) ** 2 for s in known) / len(known))
    return [None if s is None else (s - mean) / std for s in scores]
