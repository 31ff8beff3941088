"""Records under a model's tokenizer: how long they are, whether their texts survive, and what is trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from statistics import fmean

from groupwise.candidates import Completion, Group
from groupwise.data.messages import Text
from groupwise.data.render import Renderer
from groupwise.data.rows import Record


@dataclass(frozen=True, slots=True)
class Measured:
    """A record with the lengths of its prompt and responses."""

    record: Record
    prompt: int
    responses: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """Lengths in the check's unit; quantiles are lengths that occur (nearest rank)."""

    count: int
    mean: float
    shortest: int
    median: int
    p90: int
    p99: int
    longest: int
    limit: int | None  # tokens
    over: int | None  # how many are longer than the limit: refused, or cut with data.truncate
    share_over: float | None  # of all


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Neighbouring tokens as text, and whether they are trained."""

    text: str
    trained: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A row as the model sees it, special tokens included."""

    origin: str
    prompt: str
    responses: tuple[tuple[Segment, ...], ...]
    scores: tuple[float | None, ...]


def lengths(values: Sequence[int], limit: int | None = None) -> Lengths | None:
    """The quantiles of these lengths, and how many are over the limit; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    over = None if limit is None else sum(value > limit for value in values)

    def quantile(share: float) -> int:
        return ordered[max(ceil(share * len(ordered)) - 1, 0)]

    return Lengths(
        count=len(ordered),
        mean=fmean(ordered),
        shortest=ordered[0],
        median=quantile(0.5),
        p90=quantile(0.9),
        p99=quantile(0.99),
        longest=ordered[-1],
        limit=limit,
        over=over,
        share_over=None if over is None else over / len(values),
    )


def texts_of(text: Text) -> list[str]:
    """What is said in a prompt or a response, message by message."""
    return [text] if isinstance(text, str) else [str(message["content"]) for message in text]


def measured(record: Record, group: Group | None) -> Measured:
    """In the tokens of its group, or in characters without one."""
    if group is not None:
        return Measured(record, len(group.prompt_ids), tuple(len(c.token_ids) for c in group.completions))
    counts = [sum(map(len, texts_of(text))) for text in (record.prompt, *record.responses)]
    return Measured(record, counts[0], tuple(counts[1:]))


def lost_text(record: Record, group: Group, renderer: Renderer) -> str:
    """The first text of the row that its own tokens, decoded, do not hold; "" if all come back.

    An unknown character, a tokenizer that normalises, or a template that leaves out a message loses text.
    """
    sides = [(record.prompt, group.prompt_ids)]
    sides += [(r, c.token_ids) for r, c in zip(record.responses, group.completions, strict=True)]
    for text, ids in sides:
        back = _decoded(ids, renderer)
        for said in texts_of(text):
            if said.strip() not in back:
                return said
    return ""


def example(group: Group, renderer: Renderer) -> Example:
    """The group with its trained tokens marked."""
    return Example(
        origin=group.origin,
        prompt=_decoded(group.prompt_ids, renderer),
        responses=tuple(_segments(completion, renderer) for completion in group.completions),
        scores=tuple(completion.score for completion in group.completions),
    )


def _segments(completion: Completion, renderer: Renderer) -> tuple[Segment, ...]:
    trained = completion.trained or (True,) * len(completion.token_ids)
    runs = groupby(zip(completion.token_ids, trained, strict=True), key=lambda token: token[1])
    return tuple(Segment(text=_decoded([i for i, _ in run], renderer), trained=flag) for flag, run in runs)


def _decoded(ids: Sequence[int], renderer: Renderer) -> str:
    text: str = renderer.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)
    return text
