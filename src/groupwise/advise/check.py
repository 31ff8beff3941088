"""What a data set holds and what is wrong with it, before anything is trained on it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupwise.advise.compared import (
    SHOWN,
    Found,
    LengthBias,
    Ties,
    contradictions,
    duplicates,
    length_bias,
    ties,
)
from groupwise.advise.rendered import Example, Lengths, example, lengths, lost_text, measured
from groupwise.candidates import Group
from groupwise.data.annotators import Agreement, agreement
from groupwise.data.messages import identity
from groupwise.data.records import BadRow, Scan
from groupwise.data.render import Renderer
from groupwise.data.rows import Record
from groupwise.errors import ConfigError, GroupwiseError


@dataclass(frozen=True, kw_only=True, slots=True)
class DataCheck:
    """A data set's kinds, counts, lengths and faults. Lengths are in `unit`."""

    rows: int
    bad_rows: int  # cannot be read, or cannot be rendered with the model's tokenizer
    bad: tuple[BadRow, ...]  # the first of them
    kinds: Mapping[str, int]  # good rows by kind; a data set that is trained on has one
    prompts: int  # distinct
    responses: int
    unjudged: int  # responses without a score
    good: int | None  # thumbs up, of thumbs
    with_confidence: int  # rows
    unit: str  # "tokens" with a tokenizer, else "characters"
    prompt_lengths: Lengths | None
    response_lengths: Lengths | None
    duplicates: Found
    ties: Ties
    contradictions: Found
    length_bias: LengthBias | None
    agreement: Agreement | None  # of annotators
    lost_text: Found | None  # rows whose texts their tokens do not give back; None without a tokenizer
    example: Example | None  # the row with the fewest tokens; None without a tokenizer

    @property
    def sound(self) -> bool:
        """Whether every row is good, all are of one kind, and all have a confidence or none has."""
        return not self.bad_rows and len(self.kinds) == 1 and self.with_confidence in (0, self.rows)

    @property
    def kind(self) -> str:
        """The kind of all rows, "mixed" or "none"."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else "mixed" if self.kinds else "none"


def check(
    scan: Scan,
    *,
    renderer: Renderer | None = None,
    max_prompt_tokens: int | None = None,
    max_response_tokens: int | None = None,
    show: int = 20,
) -> DataCheck:
    """All that can be said of a scanned data set; `show` bad rows are told, the others counted.

    `renderer` holds the tokenizer of the model to be trained and no limits of its own: lengths are then in tokens,
    and rows that it refuses are bad. The limits cut nothing here, they count what training would refuse or cut.
    ConfigError for a limit without a renderer, which alone counts tokens.
    """
    limits = {"max_prompt_tokens": max_prompt_tokens, "max_response_tokens": max_response_tokens}
    for name, limit in limits.items():
        if limit is not None and renderer is None:
            raise ConfigError(f"{name} = {limit} counts tokens: name the model whose tokenizer counts them")
        if limit is not None and limit < 1:
            raise ConfigError(f"{name} = {limit}, must be 1 or more, or left out")
    records, groups, refused = _rendered(scan.records, renderer)
    bad = [*scan.bad, *refused]
    rows = [measured(record, groups[i] if renderer else None) for i, record in enumerate(records)]
    shortest = min(range(len(rows)), key=lambda i: rows[i].prompt + sum(rows[i].responses), default=None)
    thumbs = [record for record in records if record.kind == "thumb"]
    return DataCheck(
        rows=len(scan.records) + len(scan.bad),
        bad_rows=len(bad),
        bad=tuple(bad[:show]),
        kinds=dict(Counter(record.kind for record in records)),
        prompts=len({identity(record.prompt) for record in records}),
        responses=sum(len(record.responses) for record in records),
        unjudged=sum(score is None for record in records for score in record.scores),
        good=sum(record.scores[0] == 1 for record in thumbs) if thumbs else None,
        with_confidence=sum(record.confidence is not None for record in records),
        unit="tokens" if renderer else "characters",
        prompt_lengths=lengths([row.prompt for row in rows], max_prompt_tokens),
        response_lengths=lengths([length for row in rows for length in row.responses], max_response_tokens),
        duplicates=duplicates(records),
        ties=ties(records),
        contradictions=contradictions(records),
        length_bias=length_bias(rows),
        agreement=agreement(records),
        lost_text=_lost(records, groups, renderer) if renderer else None,
        example=example(groups[shortest], renderer) if renderer and shortest is not None else None,
    )


def _rendered(records: Sequence[Record], renderer: Renderer | None) -> tuple[list[Record], list[Group], list[BadRow]]:
    """The records that the tokenizer and its template take, as groups, and those they refuse."""
    if renderer is None:
        return list(records), [], []
    taken, groups, refused = [], [], []
    for record in records:
        try:
            groups.append(renderer.group(record))
            taken.append(record)
        except GroupwiseError as error:
            refused.append(BadRow(record.origin, str(error).removeprefix(f"{record.origin}: ")))
    return taken, groups, refused


def _lost(records: Sequence[Record], groups: Sequence[Group], renderer: Renderer) -> Found:
    found = [
        f"{record.origin}: {text[:60]!r}"
        for record, group in zip(records, groups, strict=True)
        if (text := lost_text(record, group, renderer))
    ]
    return Found(count=len(found), examples=tuple(found[:SHOWN]))
