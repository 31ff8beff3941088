"""However small the budget of tokens, the gradient is the same, and no more than a piece is read at a time."""

import pytest
import torch

from families import random_model
from groupwise.candidates import Completion, Group, Need
from groupwise.data.batch import collate, micro_batches, pieces
from groupwise.models.annotate import annotate
from groupwise.models.policy import Policy
from groupwise.registry import find_objective
from groupwise.train.gradient import backward, portions

VOCABULARY = 97
SHAPE = [(7, [5, 3, 6, 4]), (9, [2]), (4, [6, 6, 1])]


class Still:
    """A reference that answers with a fixed function of the tokens."""

    def log_probs(self, batch):
        mask = batch.candidates.mask
        of_row = torch.tensor([sum(ids) % 7 for ids in batch.responses], dtype=torch.float64)
        return torch.where(mask, -1.0 - of_row[:, None] / 10, 0.0)


@pytest.fixture
def groups():
    draw = torch.Generator().manual_seed(1)

    def ids(length):
        return tuple(torch.randint(3, VOCABULARY, (length,), generator=draw).tolist())

    return [
        Group(
            prompt_ids=ids(prompt),
            completions=tuple(Completion(token_ids=ids(n), text="", score=float(i % 3)) for i, n in enumerate(lengths)),
        )
        for prompt, lengths in SHAPE
    ]


def policy_of(kind, share=True):
    policy = Policy(random_model(kind, vocabulary=VOCABULARY), None, share_prompts=share)
    policy.add_value_head()
    return policy


def gradient(policy, objective, groups, max_tokens):
    """Of all parameters, with what was read at a time and the push on each token."""
    batch = annotate(collate(groups), objective.needs, policy, reference=Still(), moves=False, max_tokens=10**6)
    c = objective.prepare(batch.candidates)
    batch = type(batch)(
        **{name: getattr(batch, name) for name in ("prompts", "responses", "prompt_of", "source")}, candidates=c
    ).matched()
    sizes, pushes, losses = [], {}, []
    read = policy.read

    def counting(part, needs=Need.NONE):
        sizes.append(part.tokens)
        return read(part, needs)

    policy.read = counting
    for portion in portions(batch, objective, max_tokens):
        learned, out = backward(policy, objective, portion, check=lambda _: None, times=3.0)
        losses.append(out.loss.item())
        pushes |= dict(zip(portion.batch.source, learned.grad / 3, strict=True))
    policy.read = read
    found = [torch.zeros_like(p) if p.grad is None else p.grad / 3 for p in policy.parameters()]
    for parameter in policy.parameters():
        parameter.grad = None
    return found, sizes, pushes, sum(losses)


METHODS = ["sft", "dpo", "ipo", "orpo", "rrhf", "plackett_luce", "kto", "grpo", "gspo", "ppo", "generalized"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("kind", "share", "tolerance"),
    [
        ("gpt2", True, 1e-12),
        ("llama", False, 1e-12),
        (
            "mistral",
            True,
            1e-6,
        ),  # transformers rounds to float32 in its norms: here a sum of gradients, there its parts
    ],
)
def test_the_gradient_does_not_depend_on_the_budget(name, kind, share, tolerance, groups):
    policy, objective = policy_of(kind, share), find_objective(name)()
    whole, together, pushed, loss = gradient(policy, objective, groups, 10**6)
    assert len(together) == 1
    for budget in (20, 1):
        found, sizes, pushes, parts = gradient(policy, objective, groups, budget)
        largest = max(prompt + max(lengths) for prompt, lengths in SHAPE)  # a row goes alone at the worst
        assert max(sizes) <= max(budget, largest)
        assert parts == pytest.approx(loss, rel=1e-12)
        scale = max(g.abs().max().item() for g in whole)
        for expected, actual in zip(whole, found, strict=True):
            torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance * scale)
        for source, push in pushed.items():
            torch.testing.assert_close(pushes[source], push, rtol=1e-11, atol=1e-15)


def test_a_rowwise_objective_is_read_once(groups):
    policy = policy_of("llama")
    _, sizes, _, _ = gradient(policy, find_objective("sft")(), groups, 20)
    assert len(sizes) == len(pieces_of(groups, 20))
    _, twice, _, _ = gradient(policy, find_objective("dpo")(), groups, 20)
    assert len(twice) > len(sizes)


def pieces_of(groups, budget):
    return list(micro_batches(collate(groups), budget, split=True))


@pytest.mark.parametrize("budget", [1, 12, 20, 31, 10**6])
def test_pieces_hold_each_row_once_and_keep_the_budget(groups, budget):
    batch = collate(groups)
    found = pieces(batch, budget)
    assert [n for rows in found for n in rows] == list(range(len(batch.responses)))
    for rows in found:
        assert len(rows) == 1 or batch.rows(rows).tokens <= budget
    parts = pieces_of(groups, budget)
    assert sorted(source for part in parts for source in part.source) == sorted(batch.source)
    assert all(len(part.responses) == 1 or part.tokens <= budget for part in parts)
