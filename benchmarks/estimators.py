"""Bias and noise of the KL estimators and of the advantages, exactly: every response of a small policy is enumerated.

    python benchmarks/estimators.py

Two tokens of a vocabulary of three: 9 responses, 12 parameters, float64, no sampling. Prints the tables of
docs/concepts/estimators.md.
"""

from dataclasses import dataclass
from itertools import product
from math import comb

import torch
from torch import Tensor

from groupwise.candidates import Candidates, implied_weights
from groupwise.functional import divergences, weights
from groupwise.objectives.reinforce import Reinforce

RESPONSES = torch.tensor(list(product(range(3), repeat=2)))
THETA = torch.tensor([0.2, -0.4, 0.9, 0.5, 0.1, -0.8, -0.3, 0.7, 0.0, 1.1, -0.6, 0.3], dtype=torch.float64)
DRIFT = torch.tensor([-0.5, 0.8, 0.1, -1.2, 0.4, 0.9, 0.6, -0.7, 0.3, -0.9, 0.5, 1.0], dtype=torch.float64)
REFERENCES = {"near": THETA + 0.2 * DRIFT, "far": THETA + DRIFT}
PROMPTS = {  # the score of each response
    "hard": [0, 1, 0, 0, 0, 1, 0, 0, 0],
    "even": [1, 0, 1, 0, 0, 0, 0, 1, 1],
    "easy": [1, 1, 0, 1, 1, 0, 1, 1, 1],
    "graded": [0, 0.25, 1, 0.5, 0, 0.25, 1, 0, 0.5],
}
RULES = ("leave_one_out", "centered", "standardized", "ranked", "batch_standardized")


def log_probs(theta: Tensor) -> Tensor:
    """Of the tokens of every response, [9, 2]: the first token has three logits, the second three after each first."""
    first, second = theta[:3].log_softmax(-1), theta[3:].view(3, 3).log_softmax(-1)
    return torch.stack([first[RESPONSES[:, 0]], second[RESPONSES[:, 0], RESPONSES[:, 1]]], -1)


def kl(theta: Tensor, ref: Tensor) -> Tensor:
    """KL(pi || ref) of whole responses."""
    logp = log_probs(theta).sum(-1)
    return (logp.exp() * (logp - log_probs(ref).sum(-1))).sum()


def kl_of_tokens(theta: Tensor, ref: Tensor) -> Tensor:
    """The same number as a sum over tokens whose prefixes do not depend on theta: for its gradient."""
    first, second = (
        divergences.exact(logits(theta).log_softmax(-1), logits(ref).log_softmax(-1))
        for logits in (lambda x: x[:3], lambda x: x[3:].view(3, 3))
    )
    return first + (theta[:3].softmax(-1).detach() * second).sum()


def gradient(value: Tensor, theta: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(value, theta, retain_graph=True)
    return found


def parameters() -> Tensor:
    return THETA.clone().requires_grad_()


@dataclass(frozen=True)
class Moments:
    """Expectation, and the square root of the expected squared distance to it."""

    mean: Tensor
    noise: float

    @classmethod
    def of(cls, chance: Tensor, value: Tensor) -> "Moments":
        """`chance [M]`, `value [M]` or `[M, P]`."""
        mean = (chance[:, None] * value.view(len(chance), -1)).sum(0)
        squared = ((value.view(len(chance), -1) - mean) ** 2).sum(-1)
        return cls(mean, (chance * squared).sum().sqrt().item())


def kl_value(name: str, ref: Tensor) -> Moments:
    """Of an estimator's sum over a response's tokens."""
    logp = log_probs(THETA)
    return Moments.of(logp.sum(-1).exp(), divergences.ESTIMATORS[name](logp, log_probs(ref)).sum(-1))


def kl_gradient(name: str, ref: Tensor) -> Moments:
    """Of one response's gradient: of an estimator as a loss, or of k1 taken off the reward."""
    theta = parameters()
    logp = log_probs(theta)
    if name == "k1 in the reward":
        c = Candidates(
            logp=logp.detach(),
            logp_ref=log_probs(ref),
            mask=torch.ones(9, 2, dtype=torch.bool),
            group=torch.arange(9),
            score=torch.zeros(9, dtype=torch.float64),
        )
        objective = Reinforce(baseline="none", kl_coef=1.0)
        push = 9 * implied_weights(objective, objective.prepare(c))  # the mean is over 9 rows
        of_response = -(push * logp).sum(-1)
    else:
        of_response = divergences.ESTIMATORS[name](logp, log_probs(ref)).sum(-1)
    found = torch.stack([gradient(value, theta) for value in of_response])
    return Moments.of(logp.detach().sum(-1).exp(), found)


def true_policy_gradient(prompt: str) -> Tensor:
    theta = parameters()
    score = torch.tensor(PROMPTS[prompt], dtype=torch.float64)
    return gradient((log_probs(theta).sum(-1).exp() * score).sum(), theta)


def policy_gradient(rule: str, prompt: str, k: int) -> Moments:
    """Of mean_i w_i grad l_i over all steps of k responses to this prompt and k to the even one."""
    theta = parameters()
    total = log_probs(theta).sum(-1)
    of_response, chance = torch.stack([gradient(value, theta) for value in total]), total.detach().exp()
    rows = torch.cartesian_prod(*[torch.arange(9)] * k)
    of_rows = chance[rows].prod(-1)
    score, other = (torch.tensor(PROMPTS[name], dtype=torch.float64)[rows] for name in (prompt, "even"))
    ours, index = score.unique(dim=0, return_inverse=True)
    others, of_other = other.sort(-1).values.unique(dim=0, return_inverse=True)  # their order is immaterial
    weight = _weights(rule, ours, others)[index]  # [groups of ours, distinct groups of the other, k]
    found = torch.einsum("mbk,mkp->mbp", weight, of_response[rows]) / k
    of_others = torch.zeros(len(others), dtype=torch.float64).index_add(0, of_other, of_rows)
    return Moments.of(torch.outer(of_rows, of_others).flatten(), found.flatten(0, 1))


def _weights(rule: str, ours: Tensor, others: Tensor) -> Tensor:
    """Weights of our group in every step of one of ours and one of the others, [A, B, k]."""
    k = ours.shape[1]
    if rule == "batch_standardized":
        two = torch.arange(2).repeat_interleave(k)
        steps = [[weights.batch_standardized(torch.cat([a, b]), two)[:k] for b in others] for a in ours]
        return torch.stack([torch.stack(of_a) for of_a in steps])
    alone = getattr(weights, rule)(ours.flatten(), torch.arange(len(ours)).repeat_interleave(k))
    return alone.view(-1, 1, k).expand(-1, len(others), -1)


# The tables


def cosine(a: Tensor, b: Tensor) -> float:
    return torch.nn.functional.cosine_similarity(a, b, dim=0).item() if a.abs().max() > 1e-12 else float("nan")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def value_table() -> str:
    head, rows = ["estimator"], []
    for name, ref in REFERENCES.items():
        head += [f"{name}: expectation (KL = {kl(THETA, ref):.4f})", "standard deviation"]
    for name in divergences.ESTIMATORS:
        found = [kl_value(name, ref) for ref in REFERENCES.values()]
        rows.append([f"`{name}`", *(cell for m in found for cell in (f"{m.mean.item():.4f}", f"{m.noise:.4f}"))])
    return markdown(head, rows)


def gradient_table() -> str:
    ref, theta = REFERENCES["far"], parameters()
    whole, tokens = gradient(kl(theta, ref), theta), gradient(kl_of_tokens(theta, ref), theta)
    rows = []
    for name in (*divergences.ESTIMATORS, "k1 in the reward"):
        found = kl_gradient(name, ref)
        size = found.mean.norm().item()
        cosines = [cosine(found.mean, truth) for truth in (tokens, whole)]
        rows.append(
            [
                f"`{name}` as a loss" if name in divergences.ESTIMATORS else "`k1` in the reward",
                f"{size:.3f}",
                *("-" if c != c else f"{c:.3f}" for c in cosines),
                f"{found.noise:.3f}",
            ]
        )
    rows.append(
        ["KL of the tokens, prefixes given", f"{tokens.norm():.3f}", "1.000", f"{cosine(tokens, whole):.3f}", "0"]
    )
    rows.append(["KL of the response", f"{whole.norm():.3f}", f"{cosine(tokens, whole):.3f}", "1.000", "0"])
    return markdown(["", "length", "cosine with KL of the tokens", "cosine with KL of the response", "noise"], rows)


def advantage_table(k: int) -> str:
    """Scale: how much longer the expected gradient is than that of the expected score; noise: relative to it."""
    rows = []
    for rule in RULES:
        cells = []
        for prompt in PROMPTS:
            truth, found = true_policy_gradient(prompt), policy_gradient(rule, prompt, k)
            scale = (found.mean @ truth / (truth @ truth)).item()
            cells.append(f"{scale:.3f} ({found.noise / found.mean.norm().item():.2f})")
            if prompt == "graded":
                cells.append(f"{cosine(found.mean, truth):.4f}")
        rows.append([f"`{rule}`", *cells])
    chance = log_probs(THETA).sum(-1).exp()
    means = [(chance * torch.tensor(scores, dtype=torch.float64)).sum().item() for scores in PROMPTS.values()]
    head = [f"{name} (mean {mean:.2f})" for name, mean in zip(PROMPTS, means, strict=True)]
    return markdown([f"K = {k}", *head, "cosine, graded"], rows)


def scale_of_binary(chance: float, k: int) -> float:
    """Scale of `standardized` for scores of 1 with this chance and 0, by the binomial of the other k - 1."""
    weight = torch.zeros(k, 2, dtype=torch.float64)  # of a row scored 0 or 1 beside n of score 1
    for n, r in product(range(k), range(2)):
        score = torch.tensor([float(r)] + [1.0] * n + [0.0] * (k - 1 - n), dtype=torch.float64)
        weight[n, r] = weights.standardized(score, torch.zeros(k, dtype=torch.long))[0]
    binomial = [comb(k - 1, n) * chance**n * (1 - chance) ** (k - 1 - n) for n in range(k)]
    return (torch.tensor(binomial, dtype=torch.float64) @ (weight[:, 1] - weight[:, 0])).item()


def difficulty_table() -> str:
    sizes, chances = (2, 3, 4, 8, 16, 64), (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
    rows = [[str(k), *(f"{scale_of_binary(chance, k):.3f}" for chance in chances)] for k in sizes]
    rows.append(["1 / sqrt(p (1 - p))", *(f"{(p * (1 - p)) ** -0.5:.3f}" for p in chances)])
    return markdown(["K", *(f"p = {chance}" for chance in chances)], rows)


def tables() -> list[str]:
    return [value_table(), gradient_table(), *(advantage_table(k) for k in (2, 3, 4)), difficulty_table()]


if __name__ == "__main__":
    print("\n\n".join(tables()))
