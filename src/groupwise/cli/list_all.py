"""`groupwise list [objectives|rewards|recipes|models|data]`."""

import argparse
from collections.abc import Sequence

from groupwise.cli.show import print_json, table
from groupwise.fetch import DATASETS, MODELS
from groupwise.recipe import brought_recipes
from groupwise.registry import find_objective, objective_names
from groupwise.rewards import REWARDS

KINDS = ("objectives", "rewards", "recipes", "models", "data")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("kind", nargs="?", choices=KINDS, help="only these (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print what there is."""
    every = {
        "objectives": {name: _first_line(find_objective(name).__doc__) for name in objective_names()},
        "rewards": {name: _first_line(reward.__doc__) for name, reward in REWARDS.items()},
        "recipes": {name: path.read_text().partition("\n")[0].lstrip("# ") for name, path in brought_recipes().items()},
        "models": {name: item.about for name, item in MODELS.items()},
        "data": {name: item.about for name, item in DATASETS.items()},
    }
    found = {kind: named for kind, named in every.items() if options.kind in (None, kind)}
    if options.json:
        print_json(found)
        return 0
    for kind, named in found.items():
        table(kind, ("name", "what it is"), named.items())
    return 0


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
