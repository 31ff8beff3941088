"""Prompts to sample from, as the engine and the reward take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groupwise.candidates import Prompt
from groupwise.data.records import Record
from groupwise.data.render import Renderer


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptRow:
    """A prompt, its tokens, and the data row that its reward reads."""

    prompt_ids: tuple[int, ...]
    prompt: Prompt
    row: Mapping[str, Any]
    origin: str


def prompts_from_records(records: Sequence[Record], renderer: Renderer) -> list[PromptRow]:
    """One prompt a record; what responses it has are not used."""
    return [
        PromptRow(
            prompt_ids=renderer.prompt_ids(record.prompt, record.origin),
            prompt=record.prompt,
            row={"prompt": record.prompt, **record.row},  # under our name too, for rewards that read it
            origin=record.origin,
        )
        for record in records
    ]


def prompts_from_rows(rows: Sequence[Mapping[str, Any]], renderer: Renderer, name: str) -> list[PromptRow]:
    """One prompt a row of a procedural task."""
    return [
        PromptRow(
            prompt_ids=renderer.prompt_ids(row["prompt"], f"{name}:{i}"),
            prompt=row["prompt"],
            row=row,
            origin=f"{name}:{i}",
        )
        for i, row in enumerate(rows)
    ]
