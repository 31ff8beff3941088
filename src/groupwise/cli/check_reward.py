"""`groupwise check-reward NAME --data FILE-OR-TASK`."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from groupwise.cli.show import percent, print_json, say, table
from groupwise.config import build, override, parse_overrides
from groupwise.data.tasks import is_task
from groupwise.errors import ConfigError, did_you_mean
from groupwise.inputs import load_rows
from groupwise.recipe import DataConfig, RewardConfig
from groupwise.rewards.harness import HarnessConfig
from groupwise.rewards.working import RIGHT, Example, Report, check_reward

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("reward", help="a built-in's name, or file.py:function")
    parser.add_argument("--data", required=True, help="a file with prompts and answers, or a task such as `sums`")
    parser.add_argument("--gold", metavar="COLUMN", help="the column whose text is a right answer, in full")
    parser.add_argument("--size", type=int, help="rows (default: all of the file, 200 of a task)")
    parser.add_argument("--right", type=float, default=RIGHT, help="the score from which an answer counts as right")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = (
        "Settings: --reward.settings.extract boxed, --data.settings.digits 2, --rewards.timeout_s 5. The exit status "
        "is 1 if the reward does not tell right answers from wrong ones."
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Judge right answers and other rows' answers; 1 if the reward does not tell them apart."""
    task = is_task(options.data)
    given: dict[str, Any] = {
        "data": {
            "task" if task else "path": options.data,
            "size": 200 if task and options.size is None else options.size,
        },
        "reward": {"name": options.reward, "gold": options.gold},
        "rewards": {},
    }
    asked = parse_overrides(rest)
    for name in asked:
        section = name.partition(".")[0]
        if section not in given:
            raise ConfigError(f"--{name}: check-reward has no section `{section}`.{did_you_mean(section, given)}")
    given = override(given, asked)
    data, reward = build(DataConfig, given["data"], "data"), build(RewardConfig, given["reward"], "reward")
    rows = load_rows(data, options.seed)
    config = build(HarnessConfig, given["rewards"], "rewards")
    found = check_reward(reward.name, reward.settings, rows, config=config, column=reward.gold, right=options.right)
    if found is None:
        raise ConfigError(
            f"nothing says what a right answer to these rows is: give --gold COLUMN, the column with a text that "
            f"`{options.reward}` must score high; the rows have: {', '.join(rows[0])}"
        )
    if options.json:
        rates = {name: getattr(found, name) for name in ("works", "false_negatives", "false_positives")}
        print_json({"reward": options.reward, "data": options.data, **rates, **asdict(found)})
    else:
        _print(options.reward, found)
    return 0 if found.works else 1


def _print(name: str, found: Report) -> None:
    columns = ("", "judged", "mean score", "wrongly judged")
    rows = (
        ("right answers", found.gold, found.gold_mean, found.missed, found.false_negatives),
        ("other rows' answers", found.shuffled, found.shuffled_mean, found.fooled, found.false_positives),
    )
    shown = [(what, str(n), f"{mean:.3f}", f"{wrong} ({percent(share)})") for what, n, mean, wrong, share in rows]
    table(f"reward {name}, right from {found.right:g} on", columns, shown)
    say(f"{found.seconds * 1e3:.3g} ms a judgement; {found.unjudged} could not be judged; asked again: {_again(found)}")
    for what, examples in (("right, and scored", found.misses), ("of another row, and scored", found.fools)):
        for example in examples:
            say(f"{what} {_score(example)}: {example.text!r:.200} on {_short(example.row)}")
    if not found.works:
        say("This reward does not tell right answers from wrong ones.")


def _again(found: Report) -> str:
    return f"{found.unsteady} scored otherwise" if found.unsteady else "the same scores"


def _score(example: Example) -> str:
    return "nothing" if example.score is None else f"{example.score:.3g}"


def _short(row: Mapping[str, Any]) -> str:
    return f"{dict(row)!r:.200}"
