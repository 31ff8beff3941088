"""`groupwise choose FILE`."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.prompt import Prompt

from groupwise.advise.check import check
from groupwise.advise.choose import Choice, Means, choose
from groupwise.advise.memory import Memory
from groupwise.cli.data_settings import data_settings
from groupwise.cli.show import print_json, progressing, say
from groupwise.config import to_plain
from groupwise.data.records import Scan, read_records, scan_records
from groupwise.data.render import Renderer
from groupwise.data.rows import read_row
from groupwise.data.tasks import is_task, task_rows
from groupwise.errors import ConfigError
from groupwise.models.load import load_tokenizer, saved_end_token_ids
from groupwise.models.quiet import quiet_libraries
from groupwise.models.size import TINY, ModelSize, size_of
from groupwise.models.tiny import make_tokenizer
from groupwise.recipe import DataConfig, recipe_of
from groupwise.runs.atomic import write_file

TAKES_SETTINGS = True
SMALLEST = "HuggingFaceTB/SmolLM2-135M-Instruct"  # where no model is named and the data is more than `tiny` can read
_TUNED = re.compile(r"instruct|chat|sft|[-_]it\b", re.IGNORECASE)  # what names of tuned models say
_OF_TASK = 1000  # rows
_TINY_READS = 400  # characters of a prompt and its responses; what is sampled has room beside them


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a .jsonl, .json or .parquet file, a folder, a hub data set, or a task (sums)")
    parser.add_argument("--model", help="what is to be trained: a folder, a hub id, or tiny")
    parser.add_argument("--tuned", choices=("yes", "no"), help="whether the model follows instructions already")
    parser.add_argument("--checker", help="what judges answers: yes (their column `answer`), no, or a reward")
    parser.add_argument("--reward-model", metavar="PATH", help="a model that scores answers")
    parser.add_argument("--critic", action="store_true", help="a weight for each token is worth a critic")
    parser.add_argument("--reference", choices=("yes", "no"), help="whether a reference may be kept")
    parser.add_argument("--memory", type=float, metavar="GIB", help="memory for training, counted against the model")
    parser.add_argument("--noise", choices=("low", "high"), help="whether labels can be trusted (low) or not")
    parser.add_argument("--sampling", choices=("yes", "no"), help="whether the model may write answers in training")
    parser.add_argument("--write", type=Path, metavar="RECIPE.yaml", help="write the recipe there")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = "Settings as in a recipe's data section: --data.kind pair, --data.columns.prompt question."


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Choose, say why, and give the recipe."""
    quiet_libraries()
    if options.memory is not None and not options.memory > 0:
        raise ConfigError(f"--memory {options.memory}: must be above 0, in GiB")
    if options.write is not None and options.write.exists():
        raise ConfigError(f"--write {options.write}: it is there already; give another name")
    data, scan = _read(options.file, rest)
    _ask(options, scan)
    model = options.model or _default_model(scan)
    renderer, size = _look_at(model)
    found = check(scan, renderer=renderer)
    means = _means(options, model, renderer, size)
    choice = choose(options.file, found, scan.records, means, data=data)
    recipe_of(choice.recipe)  # what is advised must be a recipe
    if options.write is not None:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.write, choice.as_yaml())
    if options.json:
        print_json(
            {
                "method": choice.method,
                "reasons": list(choice.reasons),
                "runner_up": choice.runner_up,
                "recipe": choice.recipe,
            }
        )
    else:
        _print(choice, options)
    return 0


def _print(choice: Choice, options: argparse.Namespace) -> None:
    say(f"{choice.method}, because")
    for reason in choice.reasons:
        say(f"  - {reason}")
    say(f"runner-up: {choice.runner_up}")
    if options.model is None:
        say(f"No --model was given, so the recipe says {choice.recipe['model']['path']}: put yours there.")
    say()
    say(yaml.safe_dump(choice.recipe, sort_keys=False).rstrip())
    say()
    if options.write:
        say(f"next:  groupwise train {options.write}   (the method: groupwise explain {choice.method})")
    else:
        say(f"--write RECIPE.yaml writes it with comments (the method: groupwise explain {choice.method})")


def _read(file: str, rest: Sequence[str]) -> tuple[dict[str, Any], Scan]:
    """What a recipe's data section must say beside the path, and the rows; a bad row is the error of training."""
    takes = ("columns", "kind", "size", "split", "settings")
    if is_task(file) and not Path(file).exists():
        data = data_settings(None, rest, takes=takes, task=file, size=_OF_TASK)
        assert data.size is not None
        kind: Any = data.kind
        rows = task_rows(file, size=data.size, seed=0, kind=kind, split=data.split, **data.settings)
        records = [read_row(row, f"{file}:{i}", {}, data.kind) for i, row in enumerate(rows)]
        return _said(data, "task", "size", "settings", "kind"), Scan(records, [])
    data = data_settings(file, rest, takes=takes)
    assert data.path is not None
    how: Mapping[str, Any] = {"columns": data.columns, "kind": data.kind, "limit": data.size, "split": data.split}
    scan = scan_records(data.path, **how)
    if scan.bad:
        read_records(data.path, **how)
    return _said(data, "columns", "kind", "size", "split"), scan


def _said(data: DataConfig, *names: str) -> dict[str, Any]:
    default = DataConfig(path="data")
    return {name: to_plain(value) for name in names if (value := getattr(data, name)) != getattr(default, name)}


def _ask(options: argparse.Namespace, scan: Scan) -> None:
    """On a terminal, what matters for this kind of data and was not given."""
    if options.json or not sys.stdin.isatty():
        return
    kinds = {record.kind for record in scan.records}
    if options.model is None:
        options.model = _asked("Which model is to be trained? A folder or a hub id", default=_default_model(scan))
    if kinds == {"prompt"} and options.checker is None and options.reward_model is None and options.sampling != "no":
        answered = all("answer" in record.row for record in scan.records)
        asked = "What judges an answer? yes: the rows' own `answer`; no: nothing; or a reward"
        options.checker = _asked(asked, default="yes" if answered else "no")
    compares = kinds <= {"pair", "candidates"} and options.checker is None and options.reward_model is None
    if kinds and compares and options.reference is None and options.memory is None:
        options.reference = _asked("May a reference model be kept beside it?", default="yes", choices=["yes", "no"])
    if kinds and compares and options.noise is None and options.reference != "no":
        asked = "How far can the labels be trusted? low or high noise, or what the data shows"
        noise = _asked(asked, default="shown", choices=["low", "high", "shown"])
        options.noise = None if noise == "shown" else noise


def _asked(question: str, *, default: str, choices: list[str] | None = None) -> str:
    return str(Prompt.ask(question, default=default, choices=choices, console=progressing))


def _default_model(scan: Scan) -> str:
    """The model that needs no download, where it can read the rows: plain texts, a character a token."""
    texts = [(record.prompt, *record.responses) for record in scan.records]
    plain = all(isinstance(text, str) for row in texts for text in row)
    return TINY if plain and all(sum(map(len, row)) < _TINY_READS for row in texts) else SMALLEST


def _look_at(model: str) -> tuple[Renderer | None, ModelSize | None]:
    """The tokenizer and size of a model that lies here; nothing is fetched to give advice."""
    if model == TINY:
        return Renderer(make_tokenizer()), size_of(TINY)
    if not Path(model).expanduser().is_dir():
        return None, None
    tokenizer = load_tokenizer(model)
    return Renderer(tokenizer, end_ids=saved_end_token_ids(model, tokenizer)), size_of(model)


def _means(options: argparse.Namespace, model: str, renderer: Renderer | None, size: ModelSize | None) -> Means:
    if options.memory is not None and size is None:
        size = size_of(model)
    tuned = None if options.tuned is None else options.tuned == "yes"
    if tuned is None and renderer is not None:
        tuned = renderer.chat
    elif tuned is None and _TUNED.search(model):
        tuned = True
    yes = {"yes": True, "no": False, None: None}
    return Means(
        model=model,
        tuned=tuned,
        checker=options.checker,
        reward_model=options.reward_model,
        critic=options.critic,
        reference=yes[options.reference],
        noise=options.noise,
        sampling=yes[options.sampling],
        size=size,
        memory=None if options.memory is None or size is None else Memory(size=size, there=options.memory * 2**30),
    )
