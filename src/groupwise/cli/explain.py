"""`groupwise explain NAME`: an objective or a reward, from its own docstring and fields."""

import argparse
import dataclasses
import inspect
import re
from collections.abc import Sequence
from typing import Any

from groupwise.candidates import Objective
from groupwise.cli.show import print_json, say, table
from groupwise.errors import ConfigError, did_you_mean
from groupwise.registry import find_objective, objective_names
from groupwise.rewards import REWARDS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("name", help="such as grpo, dpo, exact_answer")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the docstring, the fields and what is needed."""
    kind = _find(options.name)
    text = inspect.cleandoc(kind.__doc__ or "")
    fields = [
        {"name": f.name, "type": f.type if isinstance(f.type, str) else inspect.formatannotation(f.type)}
        | {"default": f.default if f.default is not dataclasses.MISSING else None, "about": _about(kind, f.name)}
        for f in dataclasses.fields(kind)
    ]
    needs = _needs(kind) if issubclass(kind, Objective) else []
    papers = [f"https://arxiv.org/abs/{number}" for number in dict.fromkeys(re.findall(r"arXiv:(\d+\.\d+)", text))]
    if options.json:
        print_json({"name": options.name, "text": text, "fields": fields, "needs": needs, "papers": papers})
        return 0
    say(text)
    say()
    table("settings", ("name", "default", "what it does"), ((f["name"], f["default"], f["about"]) for f in fields))
    if issubclass(kind, Objective):
        say(f"needs: {', '.join(needs) or 'nothing but the policy'}")
    for paper in papers:
        say(f"paper: {paper}")
    return 0


def _needs(kind: type[Objective]) -> list[str]:
    """With the default settings; a method may need more with others."""
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]  # every method is a dataclass
    required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    if required:
        return [f"what depends on {', '.join(required)}"]
    return [flag.name.lower() for flag in kind().needs if flag.name]


def _find(name: str) -> Any:
    if name in REWARDS:
        return REWARDS[name]
    if ":" in name:
        raise ConfigError(
            f"{name!r} is a reward of your own: only objectives and the rewards that come along have pages"
        )
    if name in objective_names() or name.endswith(".py") or "." in name:
        return find_objective(name)
    raise ConfigError(f"there is no objective or reward `{name}`.{did_you_mean(name, [*objective_names(), *REWARDS])}")


def _about(kind: type, field: str) -> str:
    """The comment behind the field, or where the line has no room for one, on the line above; empty without either."""
    of = next(k for k in kind.__mro__ if field in inspect.get_annotations(k))  # where it is declared
    source = inspect.getsource(of)
    own = r"(?:(?!\n    \w|\n\n)[^#])*"  # up to the next field: its comment is not this one's
    found = re.search(rf"^    {field}: {own}#\s*(.*)$", source, re.MULTILINE)
    found = found or re.search(rf"^    # (.*)\n    {field}: ", source, re.MULTILINE)
    return found[1] if found else ""
