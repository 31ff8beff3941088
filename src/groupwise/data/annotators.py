"""Several annotators' judgements of one item to one record with a confidence, and how far the annotators agree.

An item is a prompt with its two responses (pairs, whichever is the chosen one) or with its one response (thumbs).
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any, Literal

from groupwise.data.messages import identity
from groupwise.data.rows import Record
from groupwise.errors import ConfigError, DataError, MissingExtra

Method = Literal["majority", "dawid_skene", "bradley_terry"]
PRIOR = 0.1  # of Bradley-Terry: without one, a response that won every comparison would be infinitely better

Item = tuple[str, ...]  # the prompt, then its responses in a fixed order
Judgements = Mapping[Item, Sequence[tuple[Record, int]]]  # verdict 1: the item's last response is the better, or good
Beliefs = dict[Item, float]  # the probability of verdict 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregated:
    """One record an item, in the order of their first judgements, and what became of the others.

    Each has a `confidence`, and its judgements' numbers under `votes` in its row: {"for": 2, "against": 1}.
    """

    records: tuple[Record, ...]
    judgements: int
    annotators: int
    ties: tuple[str, ...]  # the first judgement's origin of each item left out because neither side is likelier

    def __str__(self) -> str:
        said = f"{self.judgements} judgements of {self.annotators} annotators became {len(self.records)} records"
        if not self.ties:
            return f"{said}; no item is tied"
        shown = ", ".join(self.ties[:5]) + (", ..." if len(self.ties) > 5 else "")
        return f"{said}; {len(self.ties)} tied items are left out: {shown}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far annotators agree on the items that several judgements are about."""

    annotators: int
    judgements: int
    items: int  # with two judgements or more
    observed: float | None  # mean over these items of the share of pairs of judgements that agree
    alpha: float | None  # Krippendorff's, nominal: 1 full agreement, 0 what chance gives; None: see `note`
    note: str = ""  # why there is no alpha


def aggregate(records: Sequence[Record], method: Method) -> Aggregated:
    """Pairs or thumbs with an annotator each, as one record an item.

    majority        confidence = votes for / votes
    dawid_skene     confidence = P(verdict | votes), each annotator with error rates of its own, by expectation
                    maximisation (Dawid and Skene 1979; crowd-kit)
    bradley_terry   confidence = 1 / (1 + exp(s_worse - s_better)), s maximising the likelihood of all comparisons
                    of a prompt's responses times exp(-0.1 s^2) (Bradley and Terry 1952; choix); pairs only

    Raises DataError for rows of another kind, without an annotator or with a confidence of their own; ConfigError
    for an unknown method; MissingExtra without the extra "annotators", which majority does not need.
    """
    beliefs_of = _METHODS.get(method)
    if beliefs_of is None:
        raise ConfigError(f"annotators = {method!r}, must be one of {', '.join(map(repr, _METHODS))}")
    for record in records:
        _check(record, method)
    judged = judgements_of(records)
    beliefs = beliefs_of(judged)
    ties = {item for item in judged if abs(beliefs[item] - 0.5) < 1e-6}
    return Aggregated(
        records=tuple(_decided(its, beliefs[item]) for item, its in judged.items() if item not in ties),
        judgements=len(records),
        annotators=len({record.annotator for record in records}),
        ties=tuple(its[0][0].origin for item, its in judged.items() if item in ties),
    )


def judgements_of(records: Sequence[Record]) -> Judgements:
    """Every item's judgements; records of other kinds than pair and thumb have none."""
    found: dict[Item, list[tuple[Record, int]]] = {}
    item: Item
    for record in records:
        if record.kind == "pair":
            prompt, chosen, rejected = map(identity, (record.prompt, *record.responses))
            first, last = sorted((chosen, rejected), key=lambda response: _arbitrary(prompt, response))
            item, verdict = (prompt, first, last), int(last == chosen)
        elif record.kind == "thumb":
            item, verdict = (identity(record.prompt), identity(record.responses[0])), int(record.scores[0] == 1)
        else:
            continue
        found.setdefault(item, []).append((record, verdict))
    return found


def agreement(records: Sequence[Record]) -> Agreement | None:
    """How far the annotators of pairs or thumbs agree; None where no record has an annotator."""
    signed = [record for record in records if record.annotator is not None]
    if not signed:
        return None
    several = {item: its for item, its in judgements_of(signed).items() if len(its) > 1}
    alpha, note = _alpha(several)
    shares = [_equal_pairs([verdict for _, verdict in its]) for its in several.values()]
    return Agreement(
        annotators=len({record.annotator for record in signed}),
        judgements=len(signed),
        items=len(several),
        observed=sum(shares) / len(shares) if shares else None,
        alpha=alpha,
        note=note,
    )


def _arbitrary(prompt: str, response: str) -> bytes:
    """An order that knows nothing of the texts: verdict 1 must not be the likelier one because of the alphabet."""
    return hashlib.sha256(f"{prompt}\0{response}".encode()).digest()


def _check(record: Record, method: Method) -> None:
    kinds = ("pair",) if method == "bradley_terry" else ("pair", "thumb")
    if record.kind not in kinds:
        raise DataError(
            f"{record.origin}: this row is of kind `{record.kind}`, data.annotators = {method!r} aggregates "
            f"{' and '.join(f'{kind}s' for kind in kinds)}: leave data.annotators out, or choose another"
        )
    if record.annotator is None:
        raise DataError(
            f"{record.origin}: has no annotator, which data.annotators = {method!r} needs in every row: add a column "
            "`annotator`, name yours in `columns`, or leave data.annotators out"
        )
    if record.confidence is not None:
        raise DataError(
            f"{record.origin}: has confidence {record.confidence:g} beside an annotator, and data.annotators would "
            "replace it by that of all votes: remove the column, or leave data.annotators out"
        )


def _decided(judgements: Sequence[tuple[Record, int]], belief: float) -> Record:
    """The item's record by the likelier verdict: the first judgement that says so, or the first one turned round."""
    verdict = int(belief > 0.5)
    agreeing = [record for record, its in judgements if its == verdict]
    record = agreeing[0] if agreeing else _turned(judgements[0][0])
    votes = {"for": len(agreeing), "against": len(judgements) - len(agreeing)}
    row = {**record.row, "votes": votes}
    return replace(record, annotator=None, confidence=belief if verdict else 1 - belief, row=row)


def _turned(record: Record) -> Record:
    if record.kind == "pair":
        return replace(record, responses=record.responses[::-1])
    return replace(record, scores=(1 - float(record.scores[0] or 0),))


def _majority(judged: Judgements) -> Beliefs:
    return {item: sum(verdict for _, verdict in its) / len(its) for item, its in judged.items()}


def _dawid_skene(judged: Judgements) -> Beliefs:
    try:
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        raise MissingExtra("crowd-kit", "annotators", "data.annotators = 'dawid_skene'") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas to crowd-kit, about how it calls it
        found = DawidSkene(n_iter=100).fit_predict_proba(_frame(judged))
    right = found.reindex(columns=[0, 1], fill_value=0.0)[1]
    return {item: float(right[task]) for task, item in enumerate(judged)}


def _bradley_terry(judged: Judgements) -> Beliefs:
    try:
        import choix
    except ImportError:
        raise MissingExtra("choix", "annotators", "data.annotators = 'bradley_terry'") from None
    of_prompt: dict[str, list[Item]] = {}
    for item in judged:
        of_prompt.setdefault(item[0], []).append(item)
    beliefs: Beliefs = {}
    for items in of_prompt.values():
        place = {response: i for i, response in enumerate(dict.fromkeys(r for item in items for r in item[1:]))}
        won = [
            (place[item[1 + verdict]], place[item[2 - verdict]]) for item in items for _, verdict in judged[item]
        ]  # (winner, loser)
        strength = choix.opt_pairwise(len(place), won, alpha=PRIOR)
        for item in items:
            beliefs[item] = 1 / (1 + exp(float(strength[place[item[1]]] - strength[place[item[2]]])))
    return {item: beliefs[item] for item in judged}


_METHODS: Mapping[str, Callable[[Judgements], Beliefs]] = {
    "majority": _majority,
    "dawid_skene": _dawid_skene,
    "bradley_terry": _bradley_terry,
}


def _frame(judged: Judgements) -> Any:
    import pandas

    rows = [(task, record.annotator, verdict) for task, its in enumerate(judged.values()) for record, verdict in its]
    return pandas.DataFrame(rows, columns=["task", "worker", "label"])


def _equal_pairs(verdicts: Sequence[int]) -> float:
    n = len(verdicts)
    return sum(count * (count - 1) for count in Counter(verdicts).values()) / (n * (n - 1))


def _alpha(several: Judgements) -> tuple[float | None, str]:
    verdicts = {verdict for its in several.values() for _, verdict in its}
    if len(verdicts) < 2:
        return None, "all judgements are equal" if verdicts else "no item has two judgements"
    try:
        from crowdkit.metrics.data import alpha_krippendorff
    except ImportError:
        return None, str(MissingExtra("crowd-kit", "annotators", "Krippendorff's alpha"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        return float(alpha_krippendorff(_frame(several))), ""
