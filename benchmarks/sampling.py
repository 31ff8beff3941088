"""The local engine against transformers' `generate`: same weights, prompts, tokens and precision, in one process.

    python benchmarks/sampling.py MODEL_DIR PROMPTS PROMPT_TOKENS K NEW_TOKENS [--repeats 3] [--dtype float32]

The two take turns (A B A B ...), each after a warm-up; every candidate runs to NEW_TOKENS, so both do the
same work. Prints one JSON line: tokens a second of both (the median over turns) and their ratio.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import torch
from transformers import AutoModelForCausalLM

from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling
from groupwise.models.policy import Policy


def main() -> None:
    arguments = _arguments()
    count, length, k, new = arguments.prompts, arguments.prompt_tokens, arguments.k, arguments.new_tokens
    policy = Policy.load(arguments.model, dtype=arguments.dtype)
    plain = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=getattr(torch, arguments.dtype)).eval()
    plain.to(policy.device)
    generator = torch.Generator().manual_seed(0)
    prompts = torch.randint(3, plain.config.vocab_size, (count, length), generator=generator)
    engine = LocalEngine(policy)
    engine.end_ids = frozenset()  # every candidate runs to its last token
    sampling = Sampling(k=k, max_new_tokens=new)

    def ours() -> int:
        groups = engine.generate([tuple(p) for p in prompts.tolist()], sampling, seeds=range(count))
        return sum(len(completion.token_ids) for group in groups for completion in group)

    def theirs() -> int:
        ids = prompts.to(policy.device)
        with torch.inference_mode():
            out = plain.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                num_return_sequences=k,
                max_new_tokens=new,
                min_new_tokens=new,
                pad_token_id=0,
            )
        return int(out[:, length:].numel())

    speed: dict[str, list[float]] = {"groupwise": [], "transformers": []}
    for turn in range(arguments.repeats + 1):
        for name, run in (("groupwise", ours), ("transformers", theirs)):
            rate = _tokens_per_second(run, count * k * new)
            if turn:  # the first is the warm-up
                speed[name].append(rate)
    median = {name: statistics.median(rates) for name, rates in speed.items()}
    print(
        json.dumps(
            {
                "model": arguments.model.name,
                "dtype": arguments.dtype,
                "prompts": count,
                "prompt_tokens": length,
                "k": k,
                "new_tokens": new,
                "threads": torch.get_num_threads(),
                **{f"{name}_tokens_per_s": round(rate, 1) for name, rate in median.items()},
                "ratio": round(median["groupwise"] / median["transformers"], 2),
            }
        )
    )


def _tokens_per_second(run: Callable[[], int], expected: int) -> float:
    start = time.perf_counter()
    tokens = run()
    seconds = time.perf_counter() - start
    if tokens != expected:
        raise SystemExit(f"{tokens} tokens were generated, {expected} were asked for: the comparison would not be fair")
    return tokens / seconds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    for name in ("prompts", "prompt_tokens", "k", "new_tokens"):
        parser.add_argument(name, type=int, metavar=name.upper())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float64"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
