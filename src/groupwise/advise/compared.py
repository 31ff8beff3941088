"""What the rows of a data set say of each other: repeats, ties, contradictions, and longer answers winning."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from groupwise.advise.rendered import Measured
from groupwise.data.messages import identity
from groupwise.data.rows import Record
from groupwise.evaluate.intervals import Interval, wilson

SHOWN = 5  # examples of each finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """How many, and the first of them by their rows: "data.jsonl:9 repeats data.jsonl:2"."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ties:
    """Equal scores within a row: they teach nothing about which is better."""

    rows: int  # all of whose scores are equal
    pairs: int  # of responses with equal scores
    of_pairs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LengthBias:
    """Whether the better response is the longer one: a row's best against its worst. Of thumbs, the means alone."""

    longer: int  # rows whose better response is the longer one
    shorter: int
    equal: int
    share: Interval | None  # longer / (longer + shorter), Wilson's 95 % interval; None of none
    better: float  # mean length
    worse: float


def duplicates(records: Sequence[Record]) -> Found:
    """Rows that are exactly an earlier one: prompt, responses, scores and annotator."""
    first: dict[object, str] = {}
    examples = []
    for record in records:
        scored = sorted(
            ((identity(r), s) for r, s in zip(record.responses, record.scores, strict=True)), key=lambda item: str(item)
        )
        key = (identity(record.prompt), tuple(scored), record.annotator)
        earlier = first.setdefault(key, record.origin)
        if earlier is not record.origin:
            examples.append(f"{record.origin} repeats {earlier}")
    return Found(count=len(examples), examples=tuple(examples[:SHOWN]))


def ties(records: Sequence[Record]) -> Ties:
    """Rows and pairs of candidates with equal scores."""
    rows = pairs = of_pairs = 0
    for record in records:
        scores = [score for score in record.scores if score is not None]
        equal = sum(_pairs(count) for count in Counter(scores).values())
        pairs, of_pairs = pairs + equal, of_pairs + _pairs(len(scores))
        rows += len(scores) > 1 and equal == _pairs(len(scores))
    return Ties(rows=rows, pairs=pairs, of_pairs=of_pairs)


def contradictions(records: Sequence[Record]) -> Found:
    """The same two responses to the same prompt in opposite order, or the same response marked good and bad.

    Within a row too, where it holds a response twice.
    """
    of_prompt: dict[str, list[Record]] = {}
    for record in records:
        of_prompt.setdefault(identity(record.prompt), []).append(record)
    examples = []
    for same in of_prompt.values():
        said: dict[tuple[str, str], str] = {}
        told = set()
        for record in same:
            if len(same) == 1 and len(set(map(identity, record.responses))) == len(record.responses):
                continue
            for one, other in _preferences(record):
                said.setdefault((one, other), record.origin)
                if (other, one) in said and frozenset((one, other)) not in told:
                    told.add(frozenset((one, other)))
                    earlier = said[other, one]
                    examples.append(f"{record.origin} contradicts {'itself' if earlier is record.origin else earlier}")
    return Found(count=len(examples), examples=tuple(examples[:SHOWN]))


def length_bias(rows: Sequence[Measured]) -> LengthBias | None:
    """How often the better response is the longer one; None where nothing is better than anything else."""
    pairs: list[tuple[int, int]] = []
    good: list[int] = []
    bad: list[int] = []
    for row in rows:
        scored = [(s, n) for s, n in zip(row.record.scores, row.responses, strict=True) if s is not None]
        if row.record.kind == "thumb":
            (good if scored[0][0] == 1 else bad).append(scored[0][1])
        elif len({score for score, _ in scored}) > 1:
            best, worst = (pick(scored, key=lambda item: item[0])[1] for pick in (max, min))
            pairs.append((best, worst))
    better, worse = [b for b, _ in pairs] + good, [w for _, w in pairs] + bad
    if not (better and worse):
        return None
    longer, shorter = (sum(b > w for b, w in pairs), sum(b < w for b, w in pairs))
    return LengthBias(
        longer=longer,
        shorter=shorter,
        equal=len(pairs) - longer - shorter,
        share=wilson(longer, longer + shorter) if longer + shorter else None,
        better=fmean(better),
        worse=fmean(worse),
    )


def _preferences(record: Record) -> Iterator[tuple[str, str]]:
    """(better, worse) by identity; a thumb says that its response is good, or the other way round."""
    if record.kind == "thumb":
        pair = (identity(record.responses[0]), "")
        yield pair if record.scores[0] == 1 else pair[::-1]
        return
    scored = [(s, identity(r)) for s, r in zip(record.scores, record.responses, strict=True) if s is not None]
    for high, better in scored:
        yield from ((better, worse) for low, worse in scored if high > low and better != worse)


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
