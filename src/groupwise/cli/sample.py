"""`groupwise sample MODEL PROMPT ...`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from groupwise.cli.show import print_json, say
from groupwise.data.render import Renderer
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.errors import DataError
from groupwise.inputs import check_room
from groupwise.models.policy import Policy
from groupwise.models.quiet import quiet_libraries


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("model", help="a hub id or a folder")
    parser.add_argument("prompt", nargs="+", help="one or more prompts")
    parser.add_argument("--k", type=int, default=1, help="completions a prompt (default 1)")
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=1.0, help="0: the likeliest tokens")
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--stop", action="append", default=[], help="end where the text holds this; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print completions."""
    quiet_libraries()
    sampling = Sampling(
        k=options.k,
        max_new_tokens=options.max_new_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=options.top_k,
        stop=tuple(options.stop),
    )
    for prompt in options.prompt:
        if any("\ud800" <= character <= "\udfff" for character in prompt):
            raise DataError(f"the prompt {prompt[:40]!r} holds bytes that are not UTF-8: give it as text")
    policy = Policy.load(Path(options.model) if Path(options.model).is_dir() else options.model)
    renderer = Renderer(policy.tokenizer)
    prompts = [renderer.prompt_ids(prompt) for prompt in options.prompt]
    lengths = (
        (repr(p[:40]), len(ids) + sampling.max_new_tokens) for p, ids in zip(options.prompt, prompts, strict=True)
    )
    check_room(policy, lengths)
    seeds = [stable_seed(options.seed, i) for i in range(len(prompts))]
    found = LocalEngine(policy).generate(prompts, sampling, seeds=seeds)
    if options.json:
        texts = [[{"text": c.text, "finish_reason": c.finish_reason} for c in group] for group in found]
        print_json({"samples": [{"prompt": p, "completions": t} for p, t in zip(options.prompt, texts, strict=True)]})
        return 0
    for prompt, group in zip(options.prompt, found, strict=True):
        if len(found) > 1:
            say(f"{prompt}:")
        for completion in group:
            say(completion.text)
    return 0
