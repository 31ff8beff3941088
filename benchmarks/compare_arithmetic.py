"""All methods on sums of two digits: one starting model, its own answers as data, the same budget of tokens.

    python benchmarks/compare_arithmetic.py [--methods grpo,dpo] [--seeds 0,1,2] [--tokens 165000] [--section.key VALUE]

Makes `arithmetic/` where it is called: `start` (a small model fine-tuned until it is right one time in three), its own
answers to 1200 problems as `pairs.jsonl`, `lists.jsonl` and `thumbs.jsonl`, and `compare` with the runs, the table and
the charts. Called again it goes on where it stopped.
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

from groupwise.cli.main import main as groupwise
from groupwise.data.tasks import task_rows
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.models.policy import Policy
from groupwise.rewards import load_reward, score_batch

ONLINE = ("grpo", "rloo", "reinforce", "gspo", "cispo", "ppo", "raft")
OFFLINE = ("dpo", "ipo", "orpo", "simpo", "kto", "rrhf", "plackett_luce", "listnet", "best_of_n", "generalized")
FOLDER = Path("arithmetic")  # the recipes name it
PROBLEMS, SEED = 1200, 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join((*ONLINE, *OFFLINE)))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--tokens", default="165000")
    arguments, settings = parser.parse_known_args()
    start = FOLDER / "start"
    if not (start / "model").is_dir():
        resume = ["--resume", str(start)] if start.is_dir() else ["compare/start", "--run", str(start)]
        if groupwise(["train", *resume]):
            return 1
    if not all((FOLDER / f"{name}.jsonl").is_file() for name in ("pairs", "lists", "thumbs")):
        write_answers(Policy.load(start / "model"))
    recipes = [f"compare/{method}" for method in arguments.methods.split(",")]
    options = ["--seeds", arguments.seeds, "--tokens", arguments.tokens, "--run", str(FOLDER / "compare")]
    return groupwise(["compare", *recipes, *options, *settings])


def write_answers(policy: Policy) -> None:
    """The policy's answers to problems that it answers both right and wrong, as three kinds of rows."""
    problems = task_rows("sums", size=PROBLEMS, seed=SEED, split="train", digits=2, terms=2)
    prompts = [tuple(policy.tokenizer(row["prompt"], add_special_tokens=False)["input_ids"]) for row in problems]
    seeds = [stable_seed(SEED, "answers", i) for i in range(len(prompts))]
    sampled = LocalEngine(policy).generate(prompts, Sampling(k=8, max_new_tokens=28), seeds=seeds)
    reward = load_reward("exact_answer")
    rows: dict[str, list[Mapping[str, Any]]] = {"pairs": [], "lists": [], "thumbs": []}
    for problem, answers in zip(problems, sampled, strict=True):
        texts = [answer.text for answer in answers if answer.finish_reason == "stop" and answer.text.strip()]
        scores = [judged.score for judged in score_batch(reward, [problem] * len(texts), texts)]
        if {*scores} == {0.0, 1.0}:
            prompt = {"prompt": problem["prompt"]}
            right, wrong = (texts[scores.index(score)] for score in (1.0, 0.0))
            rows["pairs"].append({**prompt, "chosen": right, "rejected": wrong})
            rows["lists"].append({**prompt, "responses": texts, "scores": scores})
            rows["thumbs"] += [{**prompt, "completion": t, "label": s == 1} for t, s in zip(texts, scores, strict=True)]
    for name, found in rows.items():
        write_rows(FOLDER / f"{name}.jsonl", found)
    print(f"{len(rows['pairs'])} of {PROBLEMS} problems were answered both right and wrong", file=sys.stderr)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
