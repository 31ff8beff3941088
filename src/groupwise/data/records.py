"""Read a data set into checked records: every error before training, naming file, line and field."""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import get_args

from groupwise.data.columns import check_columns
from groupwise.data.files import raw_rows
from groupwise.data.rows import Kind, Record, read_row
from groupwise.errors import ConfigError, DataError, did_you_mean

__all__ = ["BadRow", "Kind", "Record", "Scan", "read_records", "scan_records"]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read, and what is wrong with it."""

    origin: str
    problem: str


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a data set: the good ones as records, of whatever kinds, and the bad ones."""

    records: list[Record]
    bad: list[BadRow]


def read_records(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    limit: int | None = None,
    split: str = "train",
) -> list[Record]:
    """All rows of a data set as records of one kind.

    `path` is a `.jsonl`, `.json` or `.parquet` file (the first two also `.gz`), a folder of these, or a hub
    data set `owner/name[:config]`. `columns` maps a role to the file's column (`{"prompt": "question"}`);
    without it the usual names are recognised. `kind` forces one reading where the columns allow several: a
    question with its answer as a "prompt" or a "demonstration", a pair's better side as a "demonstration".
    `limit` reads only the first rows; `split` chooses among a hub set's or a folder's splits.

    Raises DataError for the first bad row, with how many others are bad; ConfigError for a wrong argument;
    MissingExtra where the hub is needed and `datasets` is not installed.
    """
    scan = scan_records(path, columns=columns, kind=kind, limit=limit, split=split)
    if scan.bad:
        first = f"{scan.bad[0].origin}: {scan.bad[0].problem}"
        raise DataError(f"{first}{_others([row.origin for row in scan.bad[1:]], len(scan.records) + len(scan.bad))}")
    _check_one_kind(scan.records)
    _check_confidence(scan.records)
    return scan.records


def scan_records(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    limit: int | None = None,
    split: str = "train",
) -> Scan:
    """Every row of a data set, good or bad; arguments as of `read_records`.

    Raises DataError for a file without rows or one that cannot be read at all; else as `read_records`.
    """
    columns = columns or {}
    check_columns(columns)
    if kind is not None and kind not in get_args(Kind):
        raise ConfigError(f"kind: `{kind}` is no kind of record.{did_you_mean(kind, get_args(Kind))}")
    if limit is not None and limit < 1:
        raise ConfigError(f"limit: {limit} rows cannot be read: must be at least 1, or left out")
    scan = Scan([], [])
    for raw in islice(raw_rows(path, split), None if limit is None else min(limit, sys.maxsize)):
        try:
            if raw.problem:
                raise DataError(raw.problem)
            scan.records.append(read_row(raw.value, raw.origin, columns, kind))
        except DataError as error:
            scan.bad.append(BadRow(raw.origin, str(error)))
    if not (scan.records or scan.bad):
        raise DataError(f"{path}: holds no rows")
    return scan


def _others(bad: list[str], rows: int) -> str:
    if not bad:
        return f"\nThe other {rows - 1} rows are good." if rows > 1 else ""
    more = ", ..." if len(bad) > 5 else ""
    return f"\n{len(bad)} further of {rows} rows {'is' if len(bad) == 1 else 'are'} bad: {', '.join(bad[:5])}{more}."


def _check_confidence(records: list[Record]) -> None:
    """A confidence takes the place of an objective's label smoothing: which a row gets must not depend on others."""
    said = {record.confidence is not None: record for record in reversed(records)}
    if len(said) > 1:
        raise DataError(
            f"{said[False].origin}: has no confidence, but {said[True].origin} has {said[True].confidence:g}: "
            "give every row of the data set one (1 is certain), or none"
        )


def _check_one_kind(records: list[Record]) -> None:
    kinds = Counter(record.kind for record in records)
    if len(kinds) == 1:
        return
    first = records[0]
    other = next(record for record in records if record.kind != first.kind)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    raise DataError(
        f"{other.origin}: reads as `{other.kind}`, but {first.origin} as `{first.kind}` (in all: {counts}): one data "
        "set must hold one kind of record; split the file, or force one reading with `kind`"
    )
