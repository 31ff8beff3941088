"""Which method suits a data set: what it holds, what only its owner knows, the reasons, and a recipe that runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from groupwise.advise.check import DataCheck
from groupwise.advise.settings import how_long, notes, recipe_for
from groupwise.advise.tree import Means, decide
from groupwise.data.annotators import aggregate
from groupwise.data.rows import Record
from groupwise.errors import DataError

__all__ = ["Choice", "Means", "choose"]

_STAGES = ("demonstration", "pair")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A method, why, the next best, and a recipe for `groupwise train`."""

    method: str
    reasons: tuple[str, ...]
    runner_up: str
    recipe: dict[str, Any]

    def as_yaml(self) -> str:
        """The recipe as a file, with the reasons above it and beside its settings."""
        said = notes(self.method, self.recipe)
        lines = [f"# {self.method}, chosen because"]
        lines += [f"# - {reason}" for reason in self.reasons]
        lines += [f"# Runner-up: {self.runner_up}."]
        for section, settings in self.recipe.items():
            for line in yaml.safe_dump(
                {section: settings}, sort_keys=False, width=10**6, allow_unicode=True
            ).splitlines():
                key = re.match(r"  (\w+):", line)
                note = said.get(f"{section}.{key[1]}") if key else None
                lines.append(f"{line}  # {note}" if note else line)
        return "\n".join(lines) + "\n"


def choose(
    path: str, found: DataCheck, records: Sequence[Record], means: Means, *, data: Mapping[str, Any] | None = None
) -> Choice:
    """The method for the data set at `path`, of which `found` and `records` say what it holds.

    `data` holds what else the recipe's data section must say for it to be read so: columns, split, kind; of a
    task its name, settings and size, and then no path is written.

    Raises DataError for bad rows and for rows of several kinds; DataError and ConfigError for what no method can
    learn from, and for answers to what the data cannot show that do not go together.
    """
    _check(path, found)
    data = data or {}
    section = {**({} if "task" in data else {"path": path}), **data}
    judged, joined = _joined(found, records)
    verdict = decide(found, judged, means)
    takes_joined = joined and verdict.method != "sft" and verdict.reward is None
    rows = len(judged) if takes_joined else len(records)
    if takes_joined:
        section["annotators"] = "majority"
    recipe = recipe_for(section, found, rows, verdict, means)
    reasons = [*verdict.reasons, *([f"{joined}."] if takes_joined else [])]
    if found.duplicates.count:
        reasons.append(f"{found.duplicates.count:,} rows are exactly earlier ones, and are learned as often.")
    if means.memory is not None:
        reasons.append(str(means.memory))
    return Choice(
        method=verdict.method,
        reasons=(*reasons, how_long(recipe, rows)),
        runner_up=verdict.runner_up,
        recipe=recipe,
    )


def _check(path: str, found: DataCheck) -> None:
    if found.bad_rows:
        first = f"{found.bad[0].origin}: {found.bad[0].problem}; " if found.bad else ""
        raise DataError(
            f"{first}{found.bad_rows:,} of {found.rows:,} rows of {path} are bad: groupwise check shows them"
        )
    if len(found.kinds) > 1:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items())
        stages = "; split so, SFT on the one and DPO on the other are two stages of one recipe"
        raise DataError(
            f"{path} holds rows of several kinds ({kinds}): a data set that is trained on holds one. Split the file, "
            f"or force one reading with --data.kind{stages if set(_STAGES) <= set(found.kinds) else ''}"
        )
    if not found.sound:
        raise DataError(
            f"{path}: {found.with_confidence:,} of {found.rows:,} rows have a confidence: all must, or none"
        )


def _joined(found: DataCheck, records: Sequence[Record]) -> tuple[Sequence[Record], str]:
    """Several annotators' judgements as one row an item, and what became of them; "" where nothing is to be joined."""
    its = found.agreement
    if its is None or not its.items or its.judgements < len(records) or found.with_confidence:
        return records, ""
    joined = aggregate(records, "majority")
    return (joined.records, str(joined)) if joined.records else (records, "")
