"""How good a policy's own completions are, on prompts it was not trained on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groupwise.candidates import Completion, Group, why_unjudged
from groupwise.data.batch import collate
from groupwise.data.prompts import PromptRow
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling, stable_seed
from groupwise.errors import RewardError
from groupwise.evaluate.intervals import Interval, clustered_mean, wilson
from groupwise.evaluate.pass_at_k import mean_pass_at_k
from groupwise.models.policy import Policy
from groupwise.models.reference import Reference
from groupwise.models.scoring import step_log_probs
from groupwise.rewards.call import Judgement

Scorer = Callable[[Sequence[Mapping[str, Any]], Sequence[str]], list[Judgement]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """Scores of sampled completions."""

    score: Interval  # mean over prompts of the mean over their completions, 95 %
    prompts: int
    samples: int  # completions a prompt
    unjudged: int  # completions without a score: in no mean
    length: float  # tokens a completion
    cut_off: float  # share that reached max_new_tokens
    pass_at: Mapping[int, float] = field(default_factory=dict)  # k -> unbiased pass@k; for scores of 0 and 1 only
    kl_token: float | None = None  # KL to the reference for each token and
    kl_completion: float | None = None  # for each completion: mean of sum_t logp - logp_ref, unbiased
    groups: Sequence[Group] = ()

    def metrics(self) -> dict[str, float]:
        """As a run's metrics."""
        found = {
            "heldout/score": self.score.value,
            "heldout/score_low": self.score.low,
            "heldout/score_high": self.score.high,
            "heldout/length": self.length,
            "heldout/cut_off": self.cut_off,
            "heldout/unjudged": float(self.unjudged),
            **{f"heldout/pass_at_{k}": value for k, value in self.pass_at.items()},
        }
        if self.kl_token is not None and self.kl_completion is not None:
            found |= {"heldout/kl_token": self.kl_token, "heldout/kl_completion": self.kl_completion}
        return found


def evaluate_sampled(
    policy: Policy,
    prompts: Sequence[PromptRow],
    scorer: Scorer,
    *,
    sampling: Sampling,
    seed: int = 0,
    reference: Reference | None = None,
) -> Sampled:
    """Sample `sampling.k` completions of each prompt and score them; the KL too, if a reference is given."""
    seeds = [stable_seed(seed, "evaluate", i) for i in range(len(prompts))]
    sampled = LocalEngine(policy).generate([p.prompt_ids for p in prompts], sampling, seeds=seeds)
    rows = [prompt.row for prompt, found in zip(prompts, sampled, strict=True) for _ in found]
    judged = iter(scorer(rows, [completion.text for found in sampled for completion in found]))
    groups = [
        _group(prompt, found, [next(judged) for _ in found]) for prompt, found in zip(prompts, sampled, strict=True)
    ]
    scores = [[c.score for c in group.completions if c.score is not None] for group in groups]
    scored = [found for found in scores if found]
    if not scored:
        raise RewardError(
            f"none of the {len(rows)} completions could be judged, so there is no score to report; "
            f"the first: {why_unjudged(groups)}"
        )
    every = [completion for group in groups for completion in group.completions]
    kl_token, kl_completion = _kl(policy, reference, groups) if reference is not None else (None, None)
    return Sampled(
        score=_interval(scored),
        prompts=len(prompts),
        samples=sampling.k,
        unjudged=sum(completion.score is None for completion in every),
        length=sum(len(completion.token_ids) for completion in every) / len(every),
        cut_off=sum(completion.finish_reason == "length" for completion in every) / len(every),
        pass_at=_pass_at(scores, sampling.k),
        kl_token=kl_token,
        kl_completion=kl_completion,
        groups=groups,
    )


def _group(prompt: PromptRow, completions: Sequence[Completion], judgements: Sequence[Judgement]) -> Group:
    scored = (
        replace(c, score=j.score, score_parts=j.parts, unjudged=j.error or j.lost)
        for c, j in zip(completions, judgements, strict=True)
    )
    return Group(
        prompt_ids=prompt.prompt_ids,
        prompt=prompt.prompt,
        row=prompt.row,
        origin=prompt.origin,
        completions=tuple(scored),
    )


def _interval(scores: Sequence[Sequence[float]]) -> Interval:
    """Wilson's for one right-or-wrong sample a prompt; else Student's t over prompts."""
    flat = [score for found in scores for score in found]
    if len(flat) == len(scores) and set(flat) <= {0.0, 1.0}:
        return wilson(int(sum(flat)), len(flat))
    if len(scores) < 2:
        raise RewardError("an interval needs 2 prompts or more: evaluate on more rows")
    return clustered_mean(scores)


def _pass_at(scores: Sequence[Sequence[float]], k: int) -> dict[int, float]:
    """pass@1, 2, 4 ... up to the samples of a prompt, where every sample is right or wrong."""
    if any(len(found) != k or not set(found) <= {0.0, 1.0} for found in scores):
        return {}
    results = [[score == 1.0 for score in found] for found in scores]
    powers = [2**i for i in range(k.bit_length()) if 2**i <= k]
    return {n: mean_pass_at_k(results, n) for n in dict.fromkeys([*powers, k])}


def _kl(policy: Policy, reference: Reference, groups: Sequence[Group], max_tokens: int = 16384) -> tuple[float, float]:
    """Mean of logp - logp_ref a token, and of its sum a completion, over what was judged."""
    batch = collate(groups, device=policy.device)
    log_ratio = step_log_probs(policy.log_probs, batch, max_tokens) - step_log_probs(
        reference.log_probs, batch, max_tokens
    )
    total = float(log_ratio.double().sum())
    return total / int(batch.candidates.mask.sum()), total / len(batch.responses)
