"""Controlled sentiment: reward against KL of methods at several strengths of their pull to the reference.

    python benchmarks/compare_sentiment.py [--methods grpo,dpo] [--seeds 0] [--tokens 24000] [--section.key VALUE]

The set-up of the DPO paper's first figure (arXiv:2305.18290, 6.1) in small: openings of real review sentences, VADER's
compound score as the truth that no method but the online ones may ask again. First

    groupwise get-model smollm2-135m-instruct models/smollm2
    groupwise get-data movie-reviews data/movie-reviews

Then `sentiment/` is made where this is called: the model's own answers, four to each of 512 openings, as `pairs.jsonl`
(best and worst) and `lists.jsonl`; `recipes/` with a recipe for each method and strength; and `compare` with the runs,
the table and the chart `score_kl.svg`. Called again it goes on where it stopped.
At least one of the methods must be one that samples, such as grpo: its recipe says how all are judged.

Time on two CPU cores: five minutes for the answers, four to six for a run of 24,000 tokens, its held-out samples
included.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import yaml

from groupwise.cli.main import main as groupwise
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.inputs import load_prompts, make_renderer
from groupwise.models.policy import Policy
from groupwise.recipe import DataConfig
from groupwise.rewards import load_reward, score_batch

FOLDER, MODEL, SENTENCES = Path("sentiment"), Path("models/smollm2"), Path("data/movie-reviews")
OPENINGS, TOKENS, SEED = 512, 24, 0
STRENGTHS: Mapping[str, tuple[str, Sequence[float]]] = {  # method -> its setting, and its values
    "grpo": ("kl_coef", (0.0, 0.05, 0.2)),
    "dpo": ("beta", (0.05, 0.2, 1.0)),
    "plackett_luce": ("beta", (0.2,)),
    "ipo": ("tau", (0.2,)),
    "rloo": ("kl_coef", (0.05,)),
    "kto": ("beta", (0.1,)),
    "simpo": ("beta", (2.0,)),
    "orpo": ("lam", (0.1,)),
    "rrhf": ("sft", (1.0,)),
    "listnet": ("temperature", (1.0,)),
    "gspo": ("clip_low", (3e-4,)),
    "cispo": ("cap", (5.0,)),
    "reinforce": ("kl_coef", (0.0,)),
    "ppo": ("kl_coef", (0.05,)),
}
ONLINE = ("grpo", "rloo", "gspo", "cispo", "reinforce", "ppo")
LISTS = ("plackett_luce", "listnet", "rrhf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="grpo,dpo,plackett_luce")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--tokens", default="24000")
    arguments, settings = parser.parse_known_args()
    for needed in (MODEL, SENTENCES):
        if not needed.is_dir():
            raise SystemExit(f"{needed} is missing: see --help for the two commands that fetch what is needed")
    (FOLDER / "recipes").mkdir(parents=True, exist_ok=True)
    if not all((FOLDER / f"{name}.jsonl").is_file() for name in ("pairs", "lists")):
        write_answers(Policy.load(MODEL))
    recipes = [path for method in arguments.methods.split(",") for path in write_recipes(method)]
    options = ["--seeds", arguments.seeds, "--tokens", arguments.tokens, "--run", str(FOLDER / "compare")]
    return groupwise(["compare", *recipes, *options, *settings])


def write_recipes(method: str) -> list[str]:
    """A file for each strength: `dpo_beta0.1.yaml`."""
    setting, values = STRENGTHS[method]
    paths = []
    for value in values:
        path = FOLDER / "recipes" / f"{method}_{setting}{value:g}.yaml"
        path.write_text(yaml.safe_dump(recipe(method, {setting: value}), sort_keys=False), encoding="utf-8")
        paths.append(str(path))
    return paths


def recipe(method: str, strength: Mapping[str, float]) -> dict[str, Any]:
    """Plain values; all methods have one learning rate."""
    online = method in ONLINE
    common = {
        "model": {"path": str(MODEL)},
        "objective": {"name": method, **strength},
        "train": {"steps": 60, "groups_per_step": 8 if online or method in LISTS else 16, "save_every": 30},
        "optimizer": {"learning_rate": 5e-5, "warmup_steps": 5},
    }
    if not online:
        # The cut takes off the end token of answers that had reached their last token: they did not stop there.
        path = FOLDER / ("lists.jsonl" if method in LISTS else "pairs.jsonl")
        return common | {"data": {"path": str(path), "chat": False, "max_response_tokens": TOKENS, "truncate": True}}
    openings = {"kind": "prompt", "chat": False}
    return common | {
        "data": {"path": str(SENTENCES / "train.jsonl"), **openings},
        "sampling": {"k": 8, "max_new_tokens": TOKENS},
        "reward": {"name": "sentiment"},
        "evaluate": {"data": {"path": str(SENTENCES / "heldout.jsonl"), "size": 128, **openings}},
    }


def write_answers(policy: Policy) -> None:
    """Four answers to each opening; openings whose answers all score the same are left out, and counted."""
    data = DataConfig(path=str(SENTENCES / "train.jsonl"), kind="prompt", chat=False, size=OPENINGS)
    prompts = load_prompts(data, make_renderer(policy, data), SEED)
    seeds = [stable_seed(SEED, "answers", i) for i in range(len(prompts))]
    sampling = Sampling(k=4, max_new_tokens=TOKENS)
    sampled = LocalEngine(policy).generate([prompt.prompt_ids for prompt in prompts], sampling, seeds=seeds)
    reward = load_reward("sentiment")
    rows: dict[str, list[Mapping[str, Any]]] = {"pairs": [], "lists": []}
    for prompt, answers in zip(prompts, sampled, strict=True):
        texts = [answer.text for answer in answers if answer.text.strip()]
        scores = [judged.score or 0.0 for judged in score_batch(reward, [prompt.row] * len(texts), texts)]
        if len({*scores}) > 1:
            best, worst = (texts[scores.index(pick(scores))] for pick in (max, min))
            rows["pairs"].append({"prompt": prompt.prompt, "chosen": best, "rejected": worst})
            rows["lists"].append({"prompt": prompt.prompt, "responses": texts, "scores": scores})
    for name, found in rows.items():
        path = FOLDER / f"{name}.jsonl"
        partial = path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        partial.replace(path)
    print(f"{len(rows['pairs'])} of {len(prompts)} openings have answers that differ in score", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
