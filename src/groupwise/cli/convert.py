"""`groupwise convert FILE OUT --to pairs|thumbs|lists`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from groupwise.cli.data_settings import data_settings
from groupwise.cli.show import print_json, say
from groupwise.data.annotators import aggregate
from groupwise.data.convert import Target, convert, row_of
from groupwise.data.records import read_records
from groupwise.errors import ConfigError, DataError
from groupwise.runs.atomic import strict_json, write_file

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a .jsonl, .json or .parquet file, a folder of them, or a hub data set")
    parser.add_argument("out", type=Path, help="a new .jsonl file")
    parser.add_argument("--to", required=True, choices=get_args(Target), help="the kind of rows to make")
    parser.add_argument("--margin", type=float, help="of pairs: the least difference of scores (default: any)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = (
        "Settings as in a recipe's data section: --data.columns.prompt question, --data.kind candidates, and "
        "--data.annotators majority to join several annotators' judgements first."
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Write the new rows, and say what was left out and why."""
    out: Path = options.out
    if out.suffix != ".jsonl":
        raise ConfigError(f"{out}: rows are written one a line: name a file that ends in .jsonl")
    if out.exists() and not options.overwrite:
        raise ConfigError(f"{out} exists: name a new file, or give --overwrite")
    data = data_settings(options.file, rest, takes=("annotators", "columns", "kind", "size", "split"))
    records = read_records(options.file, columns=data.columns, kind=data.kind, limit=data.size, split=data.split)
    joined = aggregate(records, data.annotators) if data.annotators else None
    found = convert(joined.records if joined else records, options.to, margin=options.margin)
    if not found.records:
        reasons = "; ".join(f"{len(origins)} times {why}" for why, origins in found.left_out.items())
        raise DataError(f"{options.file}: no {options.to} can be made of its {len(records)} rows: {reasons}")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, "".join(strict_json(row_of(record)) + "\n" for record in found.records))
    left_out = {why: {"count": len(origins), "first": origins[0]} for why, origins in found.left_out.items()}
    if options.json:
        tied = {"tied_items": list(joined.ties)} if joined else {}
        print_json({"read": len(records), "written": len(found.records), "left_out": left_out, **tied})
        return 0
    if joined:
        say(str(joined))
    say(f"{out}: {len(found.records):,} {options.to} from {len(records):,} rows")
    for why, what in left_out.items():
        say(f"left out: {what['count']:,} times {why}, the first in {what['first']}")
    return 0
