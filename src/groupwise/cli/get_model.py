"""`groupwise get-model NAME DIR`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from groupwise.cli.show import say
from groupwise.fetch import MODELS, get_model


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("name", help=f"one of {', '.join(MODELS)}")
    parser.add_argument("directory", type=Path, help="a new folder")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Fetch it into the folder."""
    counts = get_model(options.name, options.directory)
    say(f"{options.directory}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    return 0
