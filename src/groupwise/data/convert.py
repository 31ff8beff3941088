"""Records of one kind from records of another, with a count of what could not be carried over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Any, Literal, get_args

from groupwise.data.columns import ROLE_COLUMNS
from groupwise.data.messages import Text, identity
from groupwise.data.rows import Kind, Record
from groupwise.errors import ConfigError, DataError, did_you_mean

Target = Literal["pairs", "thumbs", "lists"]
_FROM: Mapping[Target, tuple[Kind, str]] = {
    "pairs": ("candidates", "scored or ranked candidates"),
    "thumbs": ("pair", "pairs"),
    "lists": ("pair", "pairs that share a prompt"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """The new records, and the origins of what was left out by the reason why."""

    records: tuple[Record, ...]
    left_out: Mapping[str, tuple[str, ...]]


class _LeftOut(dict[str, list[str]]):
    def add(self, why: str, origin: str) -> None:
        self.setdefault(why, []).append(origin)

    def beside(self, records: Sequence[Record]) -> Converted:
        return Converted(records=tuple(records), left_out={why: tuple(origins) for why, origins in self.items()})


def convert(records: Sequence[Record], to: Target, *, margin: float | None = None) -> Converted:
    """`pairs_from_scores`, `thumbs_from_pairs` or `lists_from_pairs`, by name; `margin` is for pairs."""
    if to not in get_args(Target):
        raise ConfigError(f"--to {to}: records cannot be converted to it.{did_you_mean(to, get_args(Target))}")
    if to == "pairs":
        return pairs_from_scores(records, margin=margin or 0.0)
    if margin is not None:
        raise ConfigError(
            f"--margin {margin:g} has no effect with --to {to}: it is the least score difference of pairs"
        )
    return thumbs_from_pairs(records) if to == "thumbs" else lists_from_pairs(records)


def pairs_from_scores(records: Sequence[Record], *, margin: float = 0.0) -> Converted:
    """Every pair of a row's candidates whose scores differ by `margin` or more, the better as the chosen one.

    Equal scores never make a pair. Ranks count as scores a step apart. Left out and counted, by pair: equal or
    too close scores and equal responses; by response: those without a score.
    """
    if not (isfinite(margin) and margin >= 0):
        raise ConfigError(f"margin = {margin}, must be a finite number of 0 or more")
    made, left_out = [], _LeftOut()
    for record in _of_kind(records, "pairs"):
        scored = [(s, r) for s, r in zip(record.scores, record.responses, strict=True) if s is not None]
        for _ in range(len(record.responses) - len(scored)):
            left_out.add("a response without a score", record.origin)
        if len(scored) < 2:
            left_out.add("a row with fewer than two scores", record.origin)
        for one, other in combinations(scored, 2):
            (low, worse), (high, better) = sorted((one, other), key=lambda pair: pair[0])
            if identity(worse) == identity(better):
                left_out.add("a pair of equal responses", record.origin)
            elif low == high:
                left_out.add("a pair of equal scores", record.origin)
            elif high - low < margin:
                left_out.add(f"a pair of scores closer than {margin:g}", record.origin)
            else:
                made.append(replace(record, kind="pair", responses=(better, worse), scores=(1.0, 0.0)))
    return left_out.beside(made)


def thumbs_from_pairs(records: Sequence[Record]) -> Converted:
    """Each pair as two labelled responses: the chosen one is good, the rejected one is bad.

    A response that several pairs of a prompt choose, or reject, becomes one thumb. One that is chosen in a pair and
    rejected in another is left out.
    """
    thumbs: dict[tuple[str, str], list[Record]] = {}
    for record in _of_kind(records, "thumbs"):
        for response, score in zip(record.responses, record.scores, strict=True):
            thumb = replace(record, kind="thumb", responses=(response,), scores=(score,))
            thumbs.setdefault((identity(record.prompt), identity(response)), []).append(thumb)
    made, left_out = [], _LeftOut()
    for same in thumbs.values():
        if len({thumb.scores for thumb in same}) > 1:
            for thumb in same:
                left_out.add("a response that is chosen in one pair and rejected in another", thumb.origin)
            continue
        made.append(same[0])
        for thumb in same[1:]:
            left_out.add("a response that had the same label before", thumb.origin)
    return left_out.beside(made)


def lists_from_pairs(records: Sequence[Record]) -> Converted:
    """The pairs of each prompt as one list of scored responses: exactly the preferences that the pairs imply.

    A response's score is the length of the longest chain of pairs below it, so the worst have 0. The pairs must
    put the responses in order, ties allowed: prompts whose pairs contradict each other, or leave open which of two
    responses with different scores is better, are left out. The list has the lowest of its pairs' confidences.
    """
    of_prompt: dict[str, list[Record]] = {}
    for record in _of_kind(records, "lists"):
        of_prompt.setdefault(identity(record.prompt), []).append(record)
    made, left_out = [], _LeftOut()
    for pairs in of_prompt.values():
        texts = {identity(response): response for pair in pairs for response in pair.responses}
        below = _closure([(identity(pair.responses[0]), identity(pair.responses[1])) for pair in pairs])
        if any(text in below[text] for text in texts):
            why = "a pair of a prompt whose pairs contradict each other"
        elif not _ordered(score := {text: _depth(text, below) for text in texts}, below):
            why = "a pair of a prompt whose pairs leave the order open"
        else:
            made.append(_list(pairs, [(texts[text], float(score[text])) for text in texts]))
            continue
        for pair in pairs:
            left_out.add(why, pair.origin)
    return left_out.beside(made)


def row_of(record: Record) -> dict[str, Any]:
    """The record as a row that reads as the same record; columns that play no role are kept."""
    known = {name for names in ROLE_COLUMNS.values() for name in names}
    row: dict[str, Any] = {"prompt": record.prompt}
    if record.kind == "pair":
        row |= {"chosen": record.responses[0], "rejected": record.responses[1]}
    elif record.kind == "thumb":
        row |= {"completion": record.responses[0], "label": record.scores[0] == 1}
    elif record.kind == "candidates":
        row |= {"responses": list(record.responses), "scores": list(record.scores)}
    else:
        raise DataError(f"{record.origin}: this row is of kind `{record.kind}`, which no conversion makes")
    for name in ("confidence", "annotator"):
        if getattr(record, name) is not None:
            row[name] = getattr(record, name)
    return row | {name: value for name, value in record.row.items() if name not in known}


def _of_kind(records: Sequence[Record], to: Target) -> Sequence[Record]:
    kind, named = _FROM[to]
    for record in records:
        if record.kind != kind:
            raise DataError(
                f"{record.origin}: this row is of kind `{record.kind}`, and {to} are made from {named}: "
                f"give those{', or convert these to pairs first' if record.kind == 'candidates' else ''}"
            )
    return records


def _closure(better: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """Whom each response is better than, directly or by way of others."""
    below: dict[str, set[str]] = {text: set() for pair in better for text in pair}
    for high, low in better:
        below[high].add(low)
    for middle in below:
        for text in below:
            if middle in below[text]:
                below[text] |= below[middle]
    return below


def _depth(text: str, below: Mapping[str, set[str]]) -> int:
    """The longest chain below a response: in a closed order, one more than the deepest of those below."""
    depth: dict[str, int] = {}
    for each in sorted(below[text], key=lambda other: len(below[other])):
        depth[each] = 1 + max((depth[other] for other in below[each]), default=-1)
    return 1 + max(depth.values(), default=-1)


def _ordered(score: Mapping[str, int], below: Mapping[str, set[str]]) -> bool:
    """Whether every difference of scores is a preference that the pairs imply."""
    return all(low in below[high] for high in score for low in score if score[high] > score[low])


def _list(pairs: Sequence[Record], scored: Sequence[tuple[Text, float]]) -> Record:
    confidences = [pair.confidence for pair in pairs if pair.confidence is not None]
    shared = {
        name: value
        for name, value in pairs[0].row.items()
        if all(name in pair.row and pair.row[name] == value for pair in pairs)
    }
    return replace(
        pairs[0],
        kind="candidates",
        responses=tuple(response for response, _ in scored),
        scores=tuple(score for _, score in scored),
        confidence=min(confidences, default=None),
        annotator=None,
        row=shared,
    )
