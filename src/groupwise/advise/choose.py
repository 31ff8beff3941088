"""Which method suits a data set: what it holds, what only its owner knows, the reasons, and a recipe that runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from groupwise.advise.check import DataCheck
from groupwise.advise.memory import Memory
from groupwise.data.rows import Record
from groupwise.errors import ConfigError, DataError

FEW_PAIRS = 100  # below it a policy soon fits every pair, and DPO's margins grow without end
NOISY = 0.02  # share of rows that contradict others
DISAGREE = 0.8  # two annotators of one item agree less often than this
BIASED = 0.6  # the longer response wins more often than this, the interval's lower end


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What the data cannot show; None: not said."""

    model: str = "HuggingFaceTB/SmolLM2-135M-Instruct"  # what is to be trained
    chat: bool = True  # it has been tuned to follow instructions
    checker: str | None = None  # a reward that judges answers; "no": there is none
    reward_model: str | None = None  # a model that scores answers
    critic: bool = False  # a critic is worth its cost: long answers, rewards that are hard to earn
    reference: bool | None = None  # a reference model may be kept
    noise: str | None = None  # "low" or "high": how far the labels can be trusted
    memory: Memory | None = None  # what training takes, and what there is


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A method, why, the next best, and a recipe for `groupwise train`."""

    method: str
    reasons: tuple[str, ...]
    runner_up: str
    recipe: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Verdict:
    method: str
    runner_up: str
    reasons: list[str]
    objective: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, Any] = field(default_factory=dict)


def choose(path: str, found: DataCheck, records: Sequence[Record], means: Means) -> Choice:
    """The method for the data set at `path`, of which `found` and `records` say what it holds.

    DataError for rows of several kinds or with faults; ConfigError where what is there cannot be learned from.
    """
    if found.kind not in _BRANCHES:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items()) or "no rows"
        raise DataError(
            f"{path} holds {kinds}: a data set that is trained on holds one kind of row. Split the file, or force one "
            "reading with --data.kind; demonstrations and pairs make two stages of one recipe"
        )
    if found.bad_rows:
        raise DataError(f"{path} has {found.bad_rows:,} bad rows: see groupwise check {path}")
    verdict = _BRANCHES[found.kind](found, records, means)
    memory = _memory(verdict, means)
    return Choice(
        method=verdict.method,
        reasons=(*verdict.reasons, *memory),
        runner_up=verdict.runner_up,
        recipe=_recipe(path, found, verdict, means),
    )


def _prompts(found: DataCheck, records: Sequence[Record], means: Means) -> _Verdict:
    answered = sum("answer" in record.row for record in records)
    seen = f"{found.rows:,} prompts without responses: the model must write its own"
    if means.reward_model is not None:
        reward = {"reward": {"name": "model", "settings": {"path": means.reward_model}}, "sampling": _SAMPLING}
        scores = f"{seen}, and a reward model scores them"
        if means.critic:
            return _Verdict(
                method="ppo",
                runner_up="grpo",
                reasons=[scores, "a critic is wanted: it says which tokens an answer's score is due to"],
                sections=reward,
            )
        why = "a group's own mean is the baseline, so no critic has to be trained"
        pull = "a reward model can be fooled, so the policy is held to where it began (kl_coef)"
        return _Verdict(
            method="grpo", runner_up="ppo", reasons=[scores, why, pull], objective={"kl_coef": 0.04}, sections=reward
        )
    if means.checker not in (None, "no") or (answered == found.rows and means.checker is None):
        checker = "exact_answer" if means.checker in (None, "yes") else str(means.checker)
        says = f"all {answered:,} rows have an answer" if means.checker is None else "answers can be checked"
        return _Verdict(
            method="grpo",
            runner_up="rloo",
            reasons=[
                f"{seen}; {says}, by the reward `{checker}`",
                "that needs no reward model and no critic",
            ],
            sections={"reward": {"name": checker}, "sampling": _SAMPLING},
        )
    raise ConfigError(
        f"these are prompts without responses, {answered:,} of {found.rows:,} with an answer, and nothing judges what "
        "the model writes: give --checker REWARD or --reward-model PATH, or collect demonstrations or preferences"
    )


def _demonstrations(found: DataCheck, records: Sequence[Record], means: Means) -> _Verdict:
    reasons = [f"{found.rows:,} demonstrations: one good response to each prompt, and none that is worse"]
    if any("answer" in record.row for record in records) and means.checker != "no":
        reasons.append("the rows have answers: once the model is right sometimes, grpo goes on from there")
        return _Verdict(method="sft", runner_up="grpo", reasons=reasons)
    return _Verdict(method="sft", runner_up="best_of_n", reasons=reasons)


def _thumbs(found: DataCheck, records: Sequence[Record], means: Means) -> _Verdict:
    good = found.good or 0
    bad = found.rows - good
    reasons = [
        f"{good:,} responses marked good and {bad:,} marked bad, one to a prompt: nothing to compare within a prompt"
    ]
    if not good or not bad:
        reasons.append("all have the same mark: only half of the loss is at work")
    objective: dict[str, Any] = {}
    if good and bad and not 1 <= good / bad <= 4 / 3:  # the paper's range for the two sides' total weights
        if good < bad:
            objective["lambda_desirable"] = round(bad / good, 3)
        else:
            objective["lambda_undesirable"] = round(0.75 * good / bad, 3)
        (name, value), *_ = objective.items()
        reasons.append(f"{name} = {value} brings good to bad into the range 1 to 4/3 that the paper advises")
    return _Verdict(method="kto", runner_up="sft", reasons=reasons, objective=objective)


def _pairs(found: DataCheck, records: Sequence[Record], means: Means) -> _Verdict:
    seen = [f"{found.rows:,} pairs of a better and a worse response"]
    bias = found.length_bias
    long = bias is not None and bias.share is not None and bias.share.low > BIASED
    noise = _noise(found, means)
    if _no_reference(means):
        seen.append(_NO_REFERENCE)
        if means.chat:
            seen.append("simpo compares mean log-probabilities, for a model that already follows instructions")
            return _Verdict(method="simpo", runner_up="orpo", reasons=seen)
        seen.append("orpo fine-tunes on the better response as well, for a model that does not follow instructions yet")
        return _Verdict(method="orpo", runner_up="simpo", reasons=seen)
    if noise:
        seen += [noise, "ipo aims at a fixed margin, so that a wrong label cannot pull without end"]
        return _Verdict(method="ipo", runner_up="dpo with label_smoothing", reasons=seen)
    if found.rows < FEW_PAIRS:
        seen.append(f"fewer than {FEW_PAIRS} pairs are soon all fitted; ipo then stops at a fixed margin, dpo does not")
        return _Verdict(method="ipo", runner_up="dpo", reasons=seen)
    if long:
        assert bias is not None
        assert bias.share is not None
        share = f"{100 * bias.share.value:.0f} % ({100 * bias.share.low:.0f} .. {100 * bias.share.high:.0f})"
        seen.append(f"the better response is the longer one in {share}: a token's mean log-probability is compared")
        return _Verdict(method="dpo", runner_up="simpo", reasons=seen, objective={"length": "mean", "beta": 2.0})
    seen.append("a reference can be kept, the labels show no sign of noise, and there are enough of them")
    return _Verdict(method="dpo", runner_up="ipo", reasons=seen)


def _candidates(found: DataCheck, records: Sequence[Record], means: Means) -> _Verdict:
    most = max(len(record.responses) for record in records)
    if most <= 2:
        return _pairs(found, records, means)
    scores = [[score for score in record.scores if score is not None] for record in records]
    seen = [f"{found.rows:,} prompts with up to {most} responses each, {found.responses:,} in all"]
    if all(len(set(of_row)) <= 2 for of_row in scores) and len({s for of_row in scores for s in of_row}) <= 2:
        seen.append("their scores take two values: right ones are learned from, wrong ones teach nothing beyond that")
        return _Verdict(method="best_of_n", runner_up="plackett_luce", reasons=seen)
    if _no_reference(means):
        return _Verdict(method="rrhf", runner_up="best_of_n", reasons=[*seen, _NO_REFERENCE, "rrhf ranks without one"])
    if all(sorted(of_row) in (list(range(len(of_row))), list(range(1, len(of_row) + 1))) for of_row in scores):
        seen.append("they are ranked: the likelihood of a whole ranking uses every place of it")
        return _Verdict(method="plackett_luce", runner_up="rrhf", reasons=seen)
    seen.append("their scores say how far apart they are, which listnet reads and a ranking does not")
    return _Verdict(method="listnet", runner_up="plackett_luce", reasons=seen)


_BRANCHES: dict[str, Callable[[DataCheck, Sequence[Record], Means], _Verdict]] = {
    "prompt": _prompts,
    "demonstration": _demonstrations,
    "thumb": _thumbs,
    "pair": _pairs,
    "candidates": _candidates,
}
_SAMPLING = {"k": 8, "max_new_tokens": 256}
_NO_REFERENCE = "no reference model can be kept beside the policy"


def _noise(found: DataCheck, means: Means) -> str:
    """What says that labels are noisy; empty if nothing does."""
    if means.noise == "low":
        return ""
    share = found.contradictions.count / max(found.rows, 1)
    if share > NOISY:
        return f"{found.contradictions.count:,} rows ({100 * share:.0f} %) are the opposite of earlier ones"
    observed = found.agreement.observed if found.agreement else None
    if observed is not None and observed < DISAGREE:
        return f"two annotators of one item agree in {100 * observed:.0f} % only"
    return "the labels are said to be noisy" if means.noise == "high" else ""


def _no_reference(means: Means) -> bool:
    if means.reference is not None:
        return not means.reference
    return means.memory is not None and means.memory.full and not means.memory.with_reference


def _memory(verdict: _Verdict, means: Means) -> list[str]:
    if means.memory is None:
        return []
    said = [str(means.memory)]
    if not means.memory.full:
        said.append("low-rank adapters in bfloat16 take less; the reference is then the model without them")
    return said


def _recipe(path: str, found: DataCheck, verdict: _Verdict, means: Means) -> dict[str, Any]:
    online = "sampling" in verdict.sections
    groups = min(32, max(2, found.rows // 20)) if not online else min(16, max(2, found.rows // 4))
    epochs = 3 if verdict.method == "sft" else 2 if found.rows < 1000 and not online else 1
    steps = ceil(found.rows * epochs / groups)
    model: dict[str, Any] = {"path": means.model}
    rate = _RATES.get(verdict.method, 1e-6)
    if means.memory is not None and not means.memory.full:
        model |= {"dtype": "bfloat16", "lora": {"rank": 16, "alpha": 32.0}, "gradient_checkpointing": True}
        rate *= 10  # adapters start at zero and take larger steps
    data: dict[str, Any] = {"path": path}
    if verdict.method == "sft" or online:
        data["kind"] = "prompt" if online else "demonstration"
    return {
        "model": model,
        "objective": {"name": verdict.method, **verdict.objective},
        "data": data,
        **verdict.sections,
        "train": {"steps": steps, "groups_per_step": groups, "save_every": max(1, ceil(steps / 4))},
        "optimizer": {"learning_rate": rate, "warmup_steps": min(10, steps // 10)},
    }


_RATES = {"sft": 2e-5, "best_of_n": 1e-5, "orpo": 8e-6, "rrhf": 2e-6}  # others: 1e-6
