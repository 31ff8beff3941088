"""The demo: a small model made on the spot learns to add, SFT -> DPO -> GRPO, each better than the one before.

The task is addition written out, digit by digit with the carry, as in `58+67=8+7=15,5+6+1=12:125`. The
problems that the table is measured on are in no stage's training data. SFT stops early, so that the model is right
sometimes; DPO learns from pairs of its own right and wrong answers; GRPO from its own answers and the reward.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupwise.data.prompts import PromptRow
from groupwise.data.tasks import task_rows
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.evaluate.intervals import Interval
from groupwise.evaluate.sampled import evaluate_sampled
from groupwise.inputs import load_prompts, make_renderer, make_scorer
from groupwise.models.policy import Policy
from groupwise.recipe import DataConfig, Recipe, RewardConfig, recipe_of
from groupwise.runner import Runner

TASK: Mapping[str, Any] = {"digits": 2, "terms": 2}
SAMPLING = Sampling(k=8, max_new_tokens=28)
PROBLEMS, PAIR_PROMPTS, HELD_OUT = 4000, 1200, 500


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage about to be trained: its name and its runner."""

    name: str
    runner: Runner


def stages(directory: Path, seed: int) -> Iterator[Stage]:
    """The three stages in order; train one (`runner.steps()`) before asking for the next."""
    data = directory / "data"
    data.mkdir(parents=True)
    problems = task_rows("sums", size=PROBLEMS, seed=seed, split="train", **TASK)
    worked = {"task": "sums", "kind": "demonstration", "size": PROBLEMS, "settings": {**TASK, "style": "worked"}}
    sft = _recipe("tiny", {"name": "sft"}, worked, seed, steps=115, rate=3e-3)
    yield Stage("sft", Runner(sft, directory / "sft"))
    base = str(directory / "sft" / "model")
    _write(data / "pairs.jsonl", own_pairs(Policy.load(base), problems[:PAIR_PROMPTS], seed))
    dpo = _recipe(base, {"name": "dpo", "beta": 1.0}, {"path": str(data / "pairs.jsonl")}, seed, steps=60, rate=1e-4)
    yield Stage("dpo", Runner(dpo, directory / "dpo"))
    base = str(directory / "dpo" / "model")
    prompts = {"task": "sums", "size": PROBLEMS, "settings": TASK}
    sampled = {
        "sampling": {"k": SAMPLING.k, "max_new_tokens": SAMPLING.max_new_tokens},
        "reward": {"name": "exact_answer"},
    }
    grpo = _recipe(base, {"name": "grpo"}, prompts, seed, steps=100, rate=5e-4, **sampled)
    yield Stage("grpo", Runner(grpo, directory / "grpo"))


def held_out_accuracy(policy: Policy, seed: int) -> Interval:
    """Share of held-out problems that one sample at temperature 1 gets right, with its 95 % interval."""
    prompts = held_out_problems(policy, seed)
    sampling = Sampling(k=1, max_new_tokens=SAMPLING.max_new_tokens)
    scorer = make_scorer(RewardConfig(name="exact_answer"))
    return evaluate_sampled(policy, prompts, scorer, sampling=sampling, seed=seed).score


def held_out_problems(policy: Policy, seed: int) -> list[PromptRow]:
    """Problems that no stage trains on."""
    held_out = DataConfig(task="sums", split="heldout", size=HELD_OUT, settings=TASK)
    return load_prompts(held_out, make_renderer(policy, held_out), seed)


def own_pairs(policy: Policy, problems: Sequence[Mapping[str, Any]], seed: int) -> list[dict[str, str]]:
    """A right and a wrong answer of the policy's own to each problem that it answers both ways."""
    tokenize = policy.tokenizer
    prompts = [tuple(tokenize(row["prompt"], add_special_tokens=False)["input_ids"]) for row in problems]
    seeds = [stable_seed(seed, "pairs", i) for i in range(len(prompts))]
    sampled = LocalEngine(policy).generate(prompts, Sampling(k=4, max_new_tokens=28), seeds=seeds)
    scorer = make_scorer(RewardConfig(name="exact_answer"))
    pairs = []
    for row, answers in zip(problems, sampled, strict=True):
        texts = [answer.text for answer in answers if answer.finish_reason == "stop" and answer.text.strip()]
        scores = [judgement.score for judgement in scorer([row] * len(texts), texts)]
        right = [text for text, score in zip(texts, scores, strict=True) if score == 1]
        wrong = [text for text, score in zip(texts, scores, strict=True) if score == 0]
        if right and wrong:
            pairs.append({"prompt": row["prompt"], "chosen": right[0], "rejected": wrong[0]})
    return pairs


def _recipe(
    model: str,
    objective: Mapping[str, Any],
    data: Mapping[str, Any],
    seed: int,
    *,
    steps: int,
    rate: float,
    **more: Any,
) -> Recipe:
    groups = {"sft": 64, "dpo": 32, "grpo": 32}[objective["name"]]
    return recipe_of(
        {
            "model": {"path": model},
            "objective": objective,
            "data": data,
            "train": {"steps": steps, "groups_per_step": groups, "seed": seed, "save_every": steps},
            "optimizer": {"learning_rate": rate, "warmup_steps": 5},
            **more,
        }
    )


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
