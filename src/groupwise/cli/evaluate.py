"""`groupwise evaluate MODEL --data FILE-OR-TASK --reward NAME`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupwise.cli.show import percent, print_json, say, table
from groupwise.config import build, override, parse_overrides
from groupwise.data.tasks import is_task
from groupwise.engines.sampling import Sampling
from groupwise.errors import ConfigError, did_you_mean
from groupwise.evaluate.sampled import Sampled, evaluate_sampled
from groupwise.inputs import check_room, load_prompts, make_renderer, make_scorer
from groupwise.models.policy import Policy
from groupwise.models.quiet import quiet_libraries
from groupwise.recipe import DataConfig, RewardConfig

TAKES_SETTINGS = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("model", help="a hub id or a folder")
    parser.add_argument("--data", required=True, help="a file with prompts and answers, or a task such as `sums`")
    parser.add_argument("--reward", required=True, help="a built-in's name, or file.py:function")
    parser.add_argument("--samples", type=int, default=1, help="completions a prompt, for pass@k (default 1)")
    parser.add_argument("--size", type=int, help="prompts (default: all of the file, 200 of a task)")
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument(
        "--temperature", type=float, default=1.0, help="of the samples; the likeliest answer is scored too"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = "Settings of data and reward: --data.settings.digits 2, --reward.settings.extract boxed."


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Score greedy and sampled completions."""
    quiet_libraries()
    task = is_task(options.data)
    size = 200 if task and options.size is None else options.size
    given: dict[str, Any] = {
        "data": {"task" if task else "path": options.data, "size": size, "split": "heldout" if task else "train"},
        "reward": {"name": options.reward},
    }
    asked = parse_overrides(rest)
    for name in asked:
        section = name.partition(".")[0]
        if section not in given:
            raise ConfigError(f"--{name}: evaluate has no section `{section}`.{did_you_mean(section, given)}")
    if "data.max_response_tokens" in asked:
        raise ConfigError("--data.max_response_tokens has no effect on sampled responses: give --max-new-tokens")
    given = override(given, asked)
    data, reward = build(DataConfig, given["data"], "data"), build(RewardConfig, given["reward"], "reward")
    ways = {
        name: Sampling(k=k, max_new_tokens=options.max_new_tokens, temperature=temperature)
        for name, k, temperature in (("greedy", 1, 0.0), ("sampled", options.samples, options.temperature))
    }
    policy = Policy.load(Path(options.model) if Path(options.model).is_dir() else options.model)
    prompts, scorer = load_prompts(data, make_renderer(policy, data), options.seed), make_scorer(reward)
    check_room(policy, ((prompt.origin, len(prompt.prompt_ids) + options.max_new_tokens) for prompt in prompts))
    found: dict[str, Sampled] = {}
    for name, sampling in ways.items():
        found[name] = evaluate_sampled(policy, prompts, scorer, sampling=sampling, seed=options.seed)
    if options.json:
        print_json({"model": options.model, "prompts": len(prompts), **{n: _plain(s) for n, s in found.items()}})
        return 0
    columns = ("", "score", "95 % interval", "tokens", "cut off", "unjudged")
    table(f"{len(prompts)} prompts, reward {options.reward}", columns, (_row(n, s) for n, s in found.items()))
    for k, value in found["sampled"].pass_at.items():
        say(f"pass@{k}: {percent(value)}")
    return 0


def _plain(found: Sampled) -> dict[str, Any]:
    return {
        "score": found.score.value,
        "interval": [found.score.low, found.score.high],
        "samples": found.samples,
        "unjudged": found.unjudged,
        "length": found.length,
        "cut_off": found.cut_off,
        "pass_at": {str(k): value for k, value in found.pass_at.items()},
    }


def _row(name: str, found: Sampled) -> tuple[str, ...]:
    score, share = found.score, percent(found.cut_off)
    interval = f"{score.low:.3f} .. {score.high:.3f}"  # not a share: a reward may have any range
    return name, f"{score.value:.3f}", interval, f"{found.length:.1f}", share, str(found.unjudged)
