"""Does this reward work? Right answers must score high, other rows' answers low, and twice the same."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from groupwise.errors import RewardError
from groupwise.rewards.call import Judgement
from groupwise.rewards.harness import CombinedHarness, Harness, HarnessConfig, Judge, make_judge

ROWS = 64  # looked at before a run
RIGHT = 0.5  # from this score on an answer counts as right


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A judgement that should have been another."""

    row: Mapping[str, Any]
    text: str
    score: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What a reward says of answers that are known to be right and known to be wrong."""

    gold: int  # right answers judged
    missed: int  # of them: below the score that counts as right
    gold_mean: float
    shuffled: int  # other rows' right answers judged, where they differ
    fooled: int  # of them: at or above the score that counts as right
    shuffled_mean: float
    unjudged: int  # in no number above
    unsteady: int  # judgements that came out otherwise when asked for again
    seconds: float  # of one judgement, in the mean
    right: float  # the score from which an answer counts as right
    misses: Sequence[Example] = field(default=())  # at most three
    fools: Sequence[Example] = field(default=())

    @property
    def false_negatives(self) -> float:
        """Share of right answers that were not seen to be right."""
        return self.missed / self.gold if self.gold else 0.0

    @property
    def false_positives(self) -> float:
        """Share of wrong answers that passed for right."""
        return self.fooled / self.shuffled if self.shuffled else 0.0

    @property
    def works(self) -> bool:
        """Whether most right answers are seen to be right, most wrong ones not, and all could be judged."""
        judged = self.gold > self.unjudged and self.unsteady == 0
        return judged and self.false_negatives <= 0.5 and self.false_positives <= 0.5

    def __str__(self) -> str:
        found = (
            f"of {self.gold} right answers {self.missed} scored below {self.right:g} "
            f"({self.false_negatives:.1%} false negatives), of {self.shuffled} answers of other rows {self.fooled} at "
            f"or above it ({self.false_positives:.1%} false positives); mean {self.gold_mean:.3g} against "
            f"{self.shuffled_mean:.3g}"
        )
        found += f"; {self.unjudged} could not be judged" if self.unjudged else ""
        return found + (f"; {self.unsteady} scored otherwise when asked again" if self.unsteady else "")


def gold_of(judge: Judge, column: str | None = None) -> Callable[[Mapping[str, Any]], str | None] | None:
    """What makes a text that must score high from a row; None if nothing says so.

    It is the column asked for, else the reward's own `gold`: a column's name, or a function of the row.
    """
    if column is not None:
        return lambda row: _text(row.get(column))
    reward: Any = judge.reward
    if isinstance(judge, CombinedHarness):
        golds = [gold for part in judge.parts if (gold := gold_of(part)) is not None]
        return (lambda row: next((text for gold in golds if (text := gold(row)) is not None), None)) if golds else None
    gold = getattr(reward, "gold", None)
    if isinstance(gold, str):
        return lambda row: _text(row.get(gold))
    return (lambda row: _text(gold(row))) if callable(gold) else None


def check_reward(
    name: str,
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    config: HarnessConfig | None = None,
    column: str | None = None,
    right: float = RIGHT,
) -> Report | None:
    """Judge each row's right answer, and another row's; the first ones twice. None if nothing says what is right.

    Raises RewardError for a reward that fails on one of them, and for one that says it is deterministic and is not.
    """
    judge = make_judge(name, settings, config=replace(config or HarnessConfig(), cache=0))
    try:
        gold = gold_of(judge, column)
        if gold is None:
            return None
        found = [(row, text) for row in rows if (text := gold(row))]
        return _report(judge, [row for row, _ in found], [text for _, text in found], right) if found else None
    finally:
        judge.close()


def _report(judge: Judge, rows: Sequence[Mapping[str, Any]], texts: Sequence[str], right: float) -> Report:
    others = [_other(texts, i) for i in range(len(texts))]
    swapped = [(row, text) for row, text in zip(rows, others, strict=True) if text is not None]
    good = _judge(judge, rows, texts)
    took = judge.measured()["reward/seconds"]
    bad = _judge(judge, [row for row, _ in swapped], [text for _, text in swapped])
    again = _judge(judge, rows[:16], texts[:16])
    unsteady = sum(one != two for one, two in zip(good, again, strict=False))
    if unsteady and isinstance(judge, Harness) and judge.has("deterministic"):
        raise RewardError(
            f"reward `{judge.name}` says it is deterministic, and {unsteady} of {len(again)} judgements came out "
            "otherwise when asked for again: take `deterministic` away, or what it draws"
        )
    known = [(row, text, j.score) for row, text, j in zip(rows, texts, good, strict=True) if j.score is not None]
    wrong = [(row, text, j.score) for (row, text), j in zip(swapped, bad, strict=True) if j.score is not None]
    misses = [Example(row=row, text=text, score=score) for row, text, score in known if score < right]
    fools = [Example(row=row, text=text, score=score) for row, text, score in wrong if score >= right]
    return Report(
        gold=len(known),
        missed=len(misses),
        gold_mean=fmean([score for *_, score in known]) if known else 0.0,
        shuffled=len(wrong),
        fooled=len(fools),
        shuffled_mean=fmean([score for *_, score in wrong]) if wrong else 0.0,
        unjudged=len(texts) - len(known) + len(swapped) - len(wrong),
        unsteady=unsteady,
        seconds=took / max(1, len(texts)),
        right=right,
        misses=misses[:3],
        fools=fools[:3],
    )


def _judge(judge: Judge, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[Judgement]:
    """Each text alone, as a group of one, all at the same time."""
    pending = [judge.submit(row, [text]) for row, text in zip(rows, texts, strict=True)]
    return [judgement for one in pending for judgement in one.result()]


def _other(texts: Sequence[str], i: int) -> str | None:
    """The next row's text that differs."""
    return next((text for text in [*texts[i + 1 :], *texts[:i]] if text != texts[i]), None)


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, bool) else str(value)
