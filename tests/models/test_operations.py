"""Operations of the formula are those that torch counts, matrix by matrix."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from groupwise import clock
from groupwise.models.policy import Policy

SHAPE = [(11, [5, 3]), (8, [4])]
MATRICES = (torch.ops.aten.mm, torch.ops.aten.addmm)


def counted(work):
    """Operations of the products of matrices in `work()`; attention's are of other kinds."""
    with FlopCounterMode(display=False) as counter:
        work()
    return sum(counter.get_flop_counts()["Global"].get(kind, 0) for kind in MATRICES)


def policy_of(family, kind, *, share=True):
    policy = Policy(family(kind), None, share_prompts=share)
    assert policy.shares_prompts == share
    return policy


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gpt2", "gemma", "gpt_neox", "olmo2"])
@pytest.mark.parametrize("share", [True, False])
def test_a_forward_pass(kind, share, family, batch_of):
    policy, batch = policy_of(family, kind, share=share), batch_of(SHAPE)
    if not share:
        batch = batch_of([(11, [5, 5])])  # without padding, which is computed and not needed
    pairs = [11 * 12 // 2, 8 * 9 // 2] if share else [2 * (11 * 12 // 2)]
    pairs += [4 * 11 + 10, 2 * 11 + 3, 3 * 8 + 6] if share else [2 * (4 * 11 + 10)]
    attention = 4 * policy.operations.attention * sum(pairs)
    with torch.no_grad():
        found = counted(lambda: policy.log_probs(batch))
    if kind == "gpt2":  # its layers are Conv1D, and add their bias in the product
        assert policy.operations.forward(batch, shared=share) - attention == pytest.approx(found)
    else:
        assert policy.operations.forward(batch, shared=share) - attention == found


def test_a_backward_pass_is_two_forward_passes(family, batch_of):
    policy, batch = policy_of(family, "llama"), batch_of(SHAPE)
    forward, backward = (of(batch) for of in (policy.operations.forward, policy.operations.backward))
    assert backward == 2 * forward
    logp = policy.log_probs(batch)
    found = counted(lambda: logp.sum().backward())
    # the head's logits are computed again, and torch does not count the product that is added to its gradient in place
    pairs = 66 + 36 + 54 + 25 + 30
    assert found == backward - 8 * policy.operations.attention * pairs


def test_writing_token_by_token_is_one_pass_over_them(family, batch_of):
    operations = policy_of(family, "llama").operations
    batch = batch_of([(11, [6, 6])])
    written = operations.prefill([11]) + 2 * operations.decode(11, 6)
    # the first token's logits are computed once for the prompt; in training, once for each row
    assert written == operations.forward(batch) - 2 * operations.head
    assert operations.decode(11, 1) == 0


def test_frozen_weights_take_no_gradient(family, batch_of):
    model = family("llama")
    for parameter in model.model.parameters():
        parameter.requires_grad_(False)
    operations = Policy(model, None).operations
    assert operations.trained == 0
    batch = batch_of(SHAPE)
    pairs = 66 + 36 + 54 + 25 + 30
    assert operations.backward(batch) == operations.forward(batch) + 4 * operations.attention * pairs


def test_experts_count_as_often_as_a_token_meets_them(family):
    few, all_ = (
        Policy(
            family("mixtral", num_local_experts=4, num_experts_per_tok=chosen, experts_implementation="eager"), None
        ).operations.body
        for chosen in (1, 4)
    )
    assert few < all_ < 4 * few


def test_the_clock_is_told(family, batch_of):
    policy, batch = policy_of(family, "llama"), batch_of(SHAPE)
    clock.take()
    with torch.no_grad(), clock.phase("old"):
        policy.log_probs(batch)
    spent = clock.take()
    assert spent.tokens["old"] == batch.tokens
    assert spent.operations["old"] == policy.operations.forward(batch)
