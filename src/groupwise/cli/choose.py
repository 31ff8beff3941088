"""`groupwise choose FILE`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml
from rich.prompt import Prompt

from groupwise.advise.check import DataCheck, check
from groupwise.advise.choose import Choice, Means, choose
from groupwise.advise.memory import Memory
from groupwise.cli.data_settings import data_settings
from groupwise.cli.show import print_json, progressing, say
from groupwise.data.records import scan_records
from groupwise.errors import ConfigError
from groupwise.models.load import parameters_of
from groupwise.recipe import recipe_of

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a .jsonl, .json or .parquet file, a folder of them, or a hub data set")
    parser.add_argument("--model", default=Means().model, help="what is to be trained (default: %(default)s)")
    parser.add_argument("--base", action="store_true", help="the model does not follow instructions yet")
    parser.add_argument("--checker", help="`yes`, `no`, or a reward's name or file.py:function that judges answers")
    parser.add_argument("--reward-model", help="a model that scores answers")
    parser.add_argument("--critic", action="store_true", help="a critic beside the reward model is worth its cost")
    parser.add_argument("--reference", choices=("yes", "no"), help="whether a reference model may be kept")
    parser.add_argument("--noise", choices=("low", "high"), help="how far the labels can be trusted")
    parser.add_argument("--memory", type=float, metavar="GIB", help="memory for training; the model is then looked at")
    parser.add_argument("--write", type=Path, metavar="RECIPE.yaml", help="write the recipe there")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Choose, say why, and give the recipe."""
    if options.memory is not None and not options.memory > 0:
        raise ConfigError(f"--memory {options.memory}, must be above 0: GiB")
    if options.write is not None and options.write.exists():
        raise ConfigError(f"--write {options.write}: it is there already; give another name")
    data = data_settings(options.file, rest, takes=("columns", "kind", "size", "split"))
    assert data.path is not None
    scan = scan_records(data.path, columns=data.columns, kind=data.kind, limit=data.size, split=data.split)
    found = check(scan)
    choice = choose(options.file, found, scan.records, _means(options, found))
    recipe_of(choice.recipe)  # what is advised can be trained
    if options.write is not None:
        options.write.write_text(_written(choice), encoding="utf-8")
    if options.json:
        reasons = list(choice.reasons)
        shown = {"method": choice.method, "reasons": reasons, "runner_up": choice.runner_up, "recipe": choice.recipe}
        print_json(shown)
        return 0
    say(f"{choice.method}, because")
    for reason in choice.reasons:
        say(f"  - {reason}")
    say(f"runner-up: {choice.runner_up}")
    say()
    say(yaml.safe_dump(choice.recipe, sort_keys=False).rstrip())
    if options.write is not None:
        say(f"next:  groupwise train {options.write}      (about the method: groupwise explain {choice.method})")
    return 0


def _means(options: argparse.Namespace, found: DataCheck) -> Means:
    """What was given; on a terminal, what matters for this kind of data and was not given is asked."""
    asks = sys.stdin.isatty() and not options.json
    checker, reference = options.checker, options.reference
    if asks and found.kind == "prompt" and checker is None and options.reward_model is None:
        checker = Prompt.ask(
            "What judges an answer? `yes`: its column `answer`; `no`: nothing; or a reward",
            default="yes",
            console=progressing,
        )
    if asks and found.kind in ("pair", "candidates") and reference is None and options.memory is None:
        reference = Prompt.ask(
            "Is there memory for a reference model?", choices=["yes", "no"], default="yes", console=progressing
        )
    memory = None
    if options.memory is not None:
        memory = Memory(parameters=parameters_of(options.model), there=options.memory * 2**30)
    return Means(
        model=options.model,
        chat=not options.base,
        checker=checker,
        reward_model=options.reward_model,
        critic=options.critic,
        reference=None if reference is None else reference == "yes",
        noise=options.noise,
        memory=memory,
    )


def _written(choice: Choice) -> str:
    why = "".join(f"#   {reason}\n" for reason in choice.reasons)
    head = f"# {choice.method}, chosen because\n{why}# Runner-up: {choice.runner_up}\n"
    return head + yaml.safe_dump(choice.recipe, sort_keys=False)
