"""The decision tree: from what a data set holds and what its owner said to a method, with the reasons."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

from groupwise.advise.check import DataCheck
from groupwise.advise.judges import named_judge, verifier
from groupwise.advise.memory import Memory
from groupwise.data.rows import Kind, Record
from groupwise.errors import ConfigError, DataError
from groupwise.models.size import TINY, ModelSize

FEW = 100  # pairs; so few are learned by heart
NOISY = 0.02  # share of rows that contradict earlier ones
DISAGREE = 0.8  # two annotators of one item agree less often than this: their labels are noise in part
UNANIMOUS = 0.99  # more often than this: nothing in the labels says that a preference could be the other way
SEVERAL = 10  # items judged by several annotators, from which their agreement means something
BIASED = 0.6  # the longer response wins this often, and the interval is above a half


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What the data cannot show; None: not said."""

    model: str = TINY  # what is to be trained
    tuned: bool | None = None  # it has been fine-tuned to follow instructions
    checker: str | None = None  # the reward that judges answers; "yes": their column `answer`; "no": nothing does
    reward_model: str | None = None  # a model that scores answers
    critic: bool = False  # a weight for each token is worth a critic
    reference: bool | None = None  # a reference may be kept
    noise: str | None = None  # "low": the labels can be trusted, "high": they cannot
    sampling: bool | None = None  # the model may write answers of its own while it is trained
    size: ModelSize | None = None  # of the model
    memory: Memory | None = None  # what there is for it

    @property
    def without_reference(self) -> str:
        """Why there is none; empty if there may be one."""
        if self.reference is False:
            return "No reference is to be kept beside the policy"
        if self.reference is None and self.memory is not None and not self.memory.reference:
            return "There is no memory for a reference beside the policy"
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A method with its settings, and why."""

    method: str
    runner_up: str
    reasons: Sequence[str]
    objective: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind | None = None  # how the rows are to be read; None: as they are
    reward: Mapping[str, Any] | None = None  # what judges samples; None: nothing is sampled


def decide(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    """The leaf of the tree for rows of one kind. ConfigError, DataError for what no method can learn from."""
    if means.critic and means.reward_model is None and means.checker in (None, "no"):
        raise ConfigError("a critic learns from rewards: name what gives them, --checker REWARD or --reward-model PATH")
    said = means.reward_model is not None or means.checker not in (None, "no")
    if said and means.sampling is False:
        judge = means.reward_model or means.checker
        raise ConfigError(f"{judge!r} judges what the model writes, and sampling = no leaves it without effect")
    if said:
        return _sampled(found, records, means)
    return _BRANCHES[found.kind](found, records, means)


def _prompts(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    answered = sum("answer" in record.row for record in records)
    if means.sampling is False and answered == len(records):
        return Verdict(
            method="sft",
            runner_up="grpo",
            reasons=[
                f"{answered:,} prompts with an answer each, and the model is not to write its own.",
                "The answers are learned as demonstrations; GRPO would learn from the model's own attempts at them.",
            ],
            kind="demonstration",
        )
    if means.sampling is False or means.checker == "no" or not answered:
        learn = "; --sampling no learns the answers themselves" if answered == len(records) else ""
        raise ConfigError(
            f"{len(records):,} prompts without responses, {answered:,} of them with an answer, and nothing to learn "
            "from: name what judges the model's own answers (--checker REWARD or --reward-model PATH), or collect "
            f"demonstrations or preferences{learn}"
        )
    return _sampled(found, records, means)


def _sampled(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    """The model writes answers of its own, and something judges them."""
    if unasked := next((record for record in records if not record.prompt), None):
        raise DataError(f"{unasked.origin}: has no prompt that the model could answer, so nothing can be judged")
    seen = f"{len(records):,} prompts ({found.prompts:,} distinct)"
    if found.kind != "prompt":
        seen = f"{len(records):,} rows of kind {found.kind} with {found.prompts:,} distinct prompts"
    if means.reward_model is not None:
        reward, judge = named_judge("model", path=means.reward_model), f"the reward model {means.reward_model}"
    elif means.checker in (None, "yes"):
        reward, judge = verifier(records)
    else:
        reward, judge = named_judge(str(means.checker)), f"the reward `{means.checker}`"
    reasons = [f"{seen}; the model writes its own answers to them, and {judge} judges them."]
    if found.kind in ("pair", "candidates", "thumb", "demonstration"):
        reasons.append(
            f"The rows' own responses are not used: a stage of {_OFFLINE[found.kind]} on them may go before."
        )
    learned = means.reward_model is not None
    pull = {} if means.without_reference else {"kl_coef": 0.04}
    if means.critic and (means.memory is None or (means.memory.full and means.memory.reference)):
        reasons.append("A weight for each token is wanted, so a critic is trained with the policy: PPO.")
        return Verdict(
            method="ppo",
            runner_up="grpo",
            reasons=reasons,
            objective={"kl_coef": 0.0 if means.without_reference else 0.05},
            kind="prompt",
            reward=reward,
        )
    if means.critic:
        reasons.append("A critic is wanted, and the memory does not even hold policy and reference in full: GRPO.")
    reasons.append("GRPO needs no critic: the baseline of an answer is the mean of its group.")
    if learned and pull:
        reasons.append("A learned judge can be fooled, so the policy is held to where it began: kl_coef.")
    elif learned:
        reasons.append(f"{means.without_reference}, so nothing holds the policy: watch what the judge pays for.")
    return Verdict(
        method="grpo",
        runner_up="ppo" if learned else "rloo",
        reasons=reasons,
        objective=pull if learned else {},
        kind="prompt",
        reward=reward,
    )


def _demonstrations(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    reasons = [f"{len(records):,} demonstrations: a response to imitate in each row, and none that is worse."]
    if all("answer" in record.row for record in records):
        reasons.append("Every row has an answer too: once the model is right at times, GRPO goes on from there.")
        return Verdict(method="sft", runner_up="grpo", reasons=reasons)
    reasons.append("With something that judges the model's own answers, best_of_n would fine-tune on the best of them.")
    return Verdict(method="sft", runner_up="best_of_n", reasons=reasons)


def _thumbs(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    good = sum(record.scores[0] == 1 for record in records)
    bad = len(records) - good
    if not good:
        raise DataError(
            f"all {bad:,} responses are marked bad: that says what not to write, and nothing of what to write; add "
            "good ones"
        )
    if not bad:
        reasons = [f"All {good:,} responses are marked good: they are demonstrations."]
        return Verdict(method="sft", runner_up="kto", reasons=reasons, kind="demonstration")
    reasons = [
        f"{good:,} responses marked good and {bad:,} marked bad: each is judged alone, and no two need be compared.",
        "SFT on the good ones alone would leave out what the bad ones teach.",
    ]
    objective: dict[str, Any] = {"beta": 0.1}
    if good < bad:
        objective["lambda_desirable"] = ceil(1000 * bad / good) / 1000
    elif good / bad > 4 / 3:
        objective["lambda_undesirable"] = ceil(1000 * 0.75 * good / bad) / 1000
    name = next((name for name in objective if name.startswith("lambda")), "")
    if name:
        up, down = objective.get("lambda_desirable", 1) * good, objective.get("lambda_undesirable", 1) * bad
        reasons.append(
            f"{name} = {objective[name]:g} makes the good ones weigh {up / down:.2f} times the bad ones: the paper "
            "advises 1 to 4/3."
        )
    return Verdict(method="kto", runner_up="sft", reasons=reasons, objective=objective)


def _pairs(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    count = sum(len({score for score in record.scores if score is not None}) > 1 for record in records)
    reasons = [f"{count:,} pairs of a better and a worse response to {found.prompts:,} distinct prompts."]
    longer = _longer_wins(found)
    if means.sampling:
        reasons.append("The model may write its own answers, and nothing judges them yet: a reward model learns to.")
        reasons.append("Then give RUN/model as --reward-model, and GRPO or PPO learns from it.")
        return Verdict(method="reward_model", runner_up="dpo", reasons=[*reasons, *longer])
    if why := means.without_reference:
        means_of = "Both compare mean log-probabilities, which length does not drive." if longer else ""
        if means.tuned:
            reasons.append(f"{why}, and the model follows instructions: SimPO compares mean log-probabilities.")
            objective, method, other = {"beta": 2.0, "gamma": 1.0}, "simpo", "orpo"
        else:
            state = "is a base model" if means.tuned is False else "may be a base model: nothing says that it is tuned"
            reasons.append(f"{why}, and the model {state}. ORPO fine-tunes on the better response in the same step.")
            objective, method, other = {"lam": 0.1}, "orpo", "simpo"
        reasons += [*longer, *([means_of] if means_of else [])]
        return Verdict(method=method, runner_up=other, reasons=reasons, objective=objective)
    if noise := _noise(found, means):
        share = found.contradictions.count / found.rows
        reasons += [noise, "IPO draws each pair to a fixed margin, so a wrong label cannot pull without end."]
        said = all(record.confidence is not None for record in records)
        smoothing = f"label_smoothing of about {min(max(share, 0.1), 0.3):.2g}"
        reasons.append(f"Next best is DPO with {'the confidence of each row' if said else smoothing}.")
        return Verdict(method="ipo", runner_up="dpo", reasons=[*reasons, *longer], objective=_ipo(found, bool(longer)))
    if certain := _certain(found, count, means):
        reasons += [certain, "DPO's margins would grow without end on such labels; IPO's stop at a fixed one."]
        return Verdict(method="ipo", runner_up="dpo", reasons=[*reasons, *longer], objective=_ipo(found, bool(longer)))
    reasons.append(
        f"A reference can be kept, and the labels show no noise: {found.contradictions.count:,} contradictions."
    )
    if longer:
        return Verdict(method="dpo", runner_up="simpo", reasons=[*reasons, *longer], objective=_NORMALIZED)
    if count < FEW:
        reasons.append(f"Fewer than {FEW} pairs are soon learned by heart: where held-out loss rises, take IPO.")
    return Verdict(method="dpo", runner_up="ipo", reasons=reasons, objective={"beta": 0.1})


def _candidates(found: DataCheck, records: Sequence[Record], means: Means) -> Verdict:
    scores = [[score for score in record.scores if score is not None] for record in records]
    most, several = max(map(len, scores)), [of_row for of_row in scores if len(set(of_row)) > 1]
    if not several:
        raise DataError(
            f"{len(records):,} rows with up to {most} scored responses, and none has two different scores: nothing "
            "says which is better; score them again, or read them with --data.kind demonstration"
        )
    if most == 2 or means.sampling:
        return _pairs(found, records, means)
    seen = f"{len(records):,} prompts with up to {most} responses, {sum(map(len, scores)):,} in all"
    if found.ties.rows:
        seen += f"; {found.ties.rows:,} rows have equal scores only and teach nothing"
    longer = _longer_wins(found)
    objective = dict(_NORMALIZED) if longer else {"beta": 0.1}
    values = {score for of_row in several for score in of_row}
    if len(values) == 2:
        reasons = [
            f"{seen}.",
            f"Their scores are {min(values):g} or {max(values):g}: right ones are learned, the rest left.",
        ]
        reasons.append(
            "Fine-tuning on the best is the simplest that works; ranking would also push the wrong ones down."
        )
        return Verdict(method="best_of_n", runner_up="plackett_luce", reasons=[*reasons, *longer])
    if why := means.without_reference:
        reasons = [f"{seen}.", f"{why}: RRHF orders the responses by mean log-probabilities and needs none."]
        return Verdict(
            method="rrhf",
            runner_up="best_of_n",
            reasons=[*reasons, *longer],
            objective={"sft_length": "mean"},  # as the authors' code
        )
    if all(map(_is_ranking, several)):
        reasons = [f"{seen}.", "They are ranked: the likelihood of a whole ranking uses each of its places."]
        reasons.append("Without a reference it would be RRHF.")
        return Verdict(method="plackett_luce", runner_up="rrhf", reasons=[*reasons, *longer], objective=objective)
    usual = median(b - a for of_row in several for a, b in _neighbours(of_row))
    reasons = [f"{seen}.", f"Their scores say how far apart they are, {usual:.3g} between neighbours as a rule."]
    reasons.append("ListNet reads these distances. GRPO is for the model's own samples, which these are not.")
    return Verdict(
        method="listnet",
        runner_up="plackett_luce",
        reasons=[*reasons, *longer],
        objective={**objective, "temperature": float(f"{usual:.3g}")},
    )


_BRANCHES: Mapping[str, Callable[[DataCheck, Sequence[Record], Means], Verdict]] = {
    "prompt": _prompts,
    "demonstration": _demonstrations,
    "thumb": _thumbs,
    "pair": _pairs,
    "candidates": _candidates,
}
_NORMALIZED = {"beta": 2.0, "length": "mean"}  # a token's log-ratio is smaller than a response's, so beta is larger
_OFFLINE = {"pair": "DPO", "candidates": "Plackett-Luce", "thumb": "KTO", "demonstration": "SFT"}


def _noise(found: DataCheck, means: Means) -> str:
    """What says that labels are noisy; empty if nothing does, or if they are said to be trusted."""
    if means.noise == "low":
        return ""
    opposite, agreed = found.contradictions.count, _agreed(found)
    if agreed is not None:  # contradictions are then the annotators' different opinions
        return f"Two annotators of one pair agree in {agreed:.0%} only." if agreed < DISAGREE else _said(means)
    if opposite > NOISY * found.rows:
        share = opposite / found.rows
        return f"{opposite:,} of {found.rows:,} judgements ({share:.0%}) are the opposite of earlier ones."
    return _said(means)


def _said(means: Means) -> str:
    return "The labels are said to be noisy." if means.noise == "high" else ""


def _certain(found: DataCheck, count: int, means: Means) -> str:
    """What says that the preferences are the same whenever they are asked for."""
    agreed = _agreed(found)
    if agreed is not None and agreed > UNANIMOUS:
        return f"Two annotators of one pair agree in {agreed:.0%}: the preferences are deterministic."
    if means.noise == "low" and count < FEW:
        return f"The labels are said to be certain, and fewer than {FEW} pairs are gone through several times."
    return ""


def _agreed(found: DataCheck) -> float | None:
    """How often two judgements of one item agree, where enough items have several."""
    its = found.agreement
    return its.observed if its is not None and its.items >= SEVERAL else None


def _longer_wins(found: DataCheck) -> list[str]:
    """A sentence about the length bias, where it is strong."""
    bias = found.length_bias
    if bias is None or bias.share is None or bias.share.value < BIASED or bias.share.low <= 0.5:
        return []
    share = bias.share
    return [
        f"The better response is the longer one in {share.value:.0%} of the rows (95 % interval {share.low:.0%} to "
        f"{share.high:.0%}), {bias.better:,.0f} against {bias.worse:,.0f} {found.unit} on average: a length bias."
    ]


def _ipo(found: DataCheck, biased: bool) -> dict[str, Any]:
    """With the mean of a response's tokens the same margin is as many times smaller, and tau larger."""
    if not biased:
        return {"tau": 0.1}
    assert found.response_lengths is not None
    tokens = found.response_lengths.mean / (1 if found.unit == "tokens" else 4)  # of about four characters
    return {"tau": float(f"{max(0.1 * tokens, 0.1):.2g}"), "length": "mean"}


def _neighbours(scores: Sequence[float]) -> list[tuple[float, float]]:
    distinct = sorted(set(scores))
    return list(pairwise(distinct))


def _is_ranking(scores: Sequence[float]) -> bool:
    """Whether distances say no more than the order: places counted off, ties sharing one or their mean."""
    sizes = {score: scores.count(score) for score in scores}
    return all(b - a in (1, sizes[a], sizes[b], (sizes[a] + sizes[b]) / 2) for a, b in _neighbours(scores))
