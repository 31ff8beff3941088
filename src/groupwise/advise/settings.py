"""The recipe of a chosen method: sizes from the counts, rates from the papers, memory by arithmetic."""

from collections.abc import Mapping
from contextlib import suppress
from math import ceil
from typing import Any

from groupwise.advise.check import DataCheck
from groupwise.advise.tree import Means, Verdict
from groupwise.data.tasks import task_rows
from groupwise.errors import ConfigError
from groupwise.models.memory import MOST
from groupwise.models.size import TINY

NEW_TOKENS = 256  # of a sampled answer
SMALL = 1_000_000_000  # parameters; below it, steps are larger
_LARGER, _ADAPTED, _FROM_NOTHING = 5, 10, 1e-3
_RATES: Mapping[str, tuple[float, str]] = {
    "sft": (2e-5, "usual for fine-tuning"),
    "best_of_n": (1e-5, "usual for fine-tuning on the best of a few"),
    "reward_model": (1e-5, "usual for reward models: the head starts at 0"),
    "dpo": (1e-6, "the paper's"),
    "ipo": (1e-6, "that of dpo"),
    "kto": (1e-6, "that of dpo"),
    "plackett_luce": (1e-6, "that of dpo"),
    "listnet": (1e-6, "that of dpo"),
    "simpo": (6e-7, "the paper searches 3e-7 to 1e-6; at 1e-5 texts fall apart"),
    "orpo": (8e-6, "between fine-tuning and dpo"),
    "rrhf": (1e-5, "usual for fine-tuning on the best of a few"),
    "grpo": (1e-6, "the paper's"),
    "ppo": (1e-6, "usual for PPO of language models"),
}
_WHY: Mapping[str, Mapping[str, str]] = {
    "objective.beta": {
        "simpo": "the paper takes 2 to 10",
        "length=mean": "of a token's mean log-ratio: 1 to 10",
        "": "the usual pull to the reference: 0.01 to 0.5, smaller lets the policy go further",
    },
    "objective.length": {"": "of a token, so that a longer response is not better by its length"},
    "objective.gamma": {"": "by how much the better should lead: about half of beta or less"},
    "objective.lam": {"": "the paper's weight of the odds ratio beside fine-tuning"},
    "objective.tau": {
        "length=mean": "the margin of 5 nats a response, as of a token: 0.1 times the tokens of a response",
        "": "draws each pair to a margin of 1 / (2 tau) = 5 nats",
    },
    "objective.temperature": {"": "the usual distance of two scores, in their own units"},
    "objective.kl_coef": {"": "the pull to the reference; the run then logs loss/kl_ref"},
    "objective.lambda_desirable": {"": "(this x good) / (lambda_undesirable x bad) from 1 to 4/3"},
    "objective.lambda_undesirable": {"": "(lambda_desirable x good) / (this x bad) from 1 to 4/3"},
    "objective.sft_length": {"": "as in the authors' code: else long best answers drown the order"},
    "sampling.k": {"": "answers to a prompt: their mean is the baseline; more is less noisy and slower"},
    "sampling.max_new_tokens": {"": "raise it where completions/cut_off is high at the first step"},
    "data.truncate": {"": "what is longer is cut, and counted in the run's events"},
    "data.annotators": {"": "one row an item, with the share of votes as its confidence"},
    "train.max_tokens": {"": "of a micro-batch, by the memory that is left for activations"},
    "model.lora": {"": "all parameters do not fit in the memory"},
    "model.gradient_checkpointing": {"": "less memory for activations, a third more time"},
}


def recipe_for(data: Mapping[str, Any], found: DataCheck, rows: int, verdict: Verdict, means: Means) -> dict[str, Any]:
    """The recipe as plain values; `data` is its data section as far as it was said, `rows` what is trained on."""
    online = verdict.reward is not None
    groups = min(rows, 16, max(2, rows // 4)) if online else min(rows, 32, max(2, rows // 20))
    epochs = 1 if online else 3 if verdict.method == "sft" else 2 if rows < 1000 else 1
    steps = ceil(rows * epochs / groups)
    train = {"steps": steps, "groups_per_step": groups, "save_every": ceil(steps / 4)}
    model: dict[str, Any] = {"path": means.model}
    if means.memory is not None:
        if not means.memory.full:
            model |= {"dtype": "bfloat16", "lora": {"rank": 16, "alpha": 32.0}}
        reference = not means.without_reference
        tokens = means.memory.max_tokens(reference=reference, checkpointing=False)
        if tokens < 4096:
            model["gradient_checkpointing"] = True
            tokens = means.memory.max_tokens(reference=reference, checkpointing=True)
        if tokens < MOST:
            train["max_tokens"] = tokens
    sections: dict[str, Any] = {
        "model": model,
        "objective": {"name": verdict.method, **verdict.objective},
        "data": {**data, **({"kind": verdict.kind} if verdict.kind else {})},
    }
    if online and "task" in data:
        del sections["data"]["kind"]  # prompts are what a task gives
    if verdict.reward is not None:
        sampling = {"k": 8, "max_new_tokens": _new_tokens(means)}
        sections |= {"sampling": sampling, "reward": dict(verdict.reward)}
    sections["data"] |= _limits(found, online=online, means=means)
    if "task" in data and (size := _heldout(sections["data"])):
        sections["evaluate"] = {"data": {**sections["data"], "split": "heldout", "size": size}}
    sections["train"] = train
    sections["optimizer"] = {"learning_rate": _rate(verdict.method, means), "warmup_steps": min(10, steps // 10)}
    return sections


def how_long(recipe: Mapping[str, Any], rows: int) -> str:
    """The recipe's steps as passes over the data."""
    train = recipe["train"]
    passes = train["steps"] * train["groups_per_step"] / rows
    return (
        f"The recipe takes {train['steps']:,} steps of {train['groups_per_step']} of the {rows:,} rows: {passes:.2g} "
        f"{'pass' if passes < 1.05 else 'passes'}."
    )


def notes(method: str, recipe: Mapping[str, Any]) -> dict[str, str]:
    """Why settings of the recipe are what they are, by their dotted names."""
    objective, found = recipe["objective"], {}
    for name, why in _WHY.items():
        section, key = name.split(".")
        if key in recipe.get(section, {}):
            of = "length=mean" if objective.get("length") == "mean" else ""
            found[name] = why.get(method) or why.get(of) or why[""]
    if recipe["model"]["path"] == TINY:
        found["model.path"] = "a small random model made on the spot, to see the recipe run: name yours"
        found["optimizer.learning_rate"] = "for a small model that starts from nothing"
        return found
    rate, why_rate = _RATES[method]
    scale = recipe["optimizer"]["learning_rate"] / rate
    scaled = (
        ""
        if scale < 1.5
        else f"; {scale:.0f} times that for "
        + ("adapters, which start at nothing" if "lora" in recipe["model"] else "so small a model")
    )
    found["optimizer.learning_rate"] = f"{rate:g} is {why_rate}, for models of billions of parameters{scaled}"
    return found


def _rate(method: str, means: Means) -> float:
    if means.model == TINY:
        return _FROM_NOTHING
    rate = _RATES[method][0]
    if means.memory is not None and not means.memory.full:
        rate *= _ADAPTED
    elif means.size is not None and means.size.parameters < SMALL:
        rate *= _LARGER
    return float(f"{rate:.1g}")


def _new_tokens(means: Means) -> int:
    """A model that starts from nothing writes to the end of what it may."""
    return NEW_TOKENS // 8 if means.model == TINY else NEW_TOKENS


def _heldout(data: Mapping[str, Any]) -> int:
    """How many distinct held-out problems of a task to measure on; 0 where it has next to none."""
    for size in (200, 100, 50, 20, 10):
        with suppress(ConfigError):  # it has fewer
            rows = task_rows(data["task"], size=size, seed=1, split="heldout", **data.get("settings", {}))
            return len(rows)
    return 0


def _limits(found: DataCheck, *, online: bool, means: Means) -> dict[str, Any]:
    """Limits for rows that the model has no positions for; nothing where all fit, or where lengths are not known."""
    prompts, responses, positions = found.prompt_lengths, found.response_lengths, means.size and means.size.positions
    if found.unit != "tokens" or not positions or prompts is None:
        return {}
    response = _new_tokens(means) if online else responses.longest if responses else 0
    if prompts.longest + response <= positions:
        return {}
    if online:
        return {"max_prompt_tokens": max(positions - response, 1), "truncate": True}
    response = min(response, positions // 2)
    return {"max_prompt_tokens": positions - response, "max_response_tokens": response, "truncate": True}
