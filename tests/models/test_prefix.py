"""One forward pass over shared prompts gives what a separate pass for every row gives."""

import copy
import random
from dataclasses import replace

import pytest
import torch

from groupwise.data.batch import collate
from groupwise.models.policy import Policy
from groupwise.models.prefix import gather

EXACT = "gpt2 gpt_neox phi starcoder2 opt"
# transformers computes these families' norms in float32 whatever the weights are: equal up to its rounding
ROUNDED = "llama qwen2 qwen3 gemma gemma3_text mistral phi3 olmo2 cohere granite"
SEPARATE = "gemma2 bloom mamba"
TOLERANCE = dict.fromkeys(EXACT.split(), 1e-12) | dict.fromkeys(f"{ROUNDED} {SEPARATE}".split(), 1e-6)
SHAPE = [(7, [5, 1, 9]), (1, [4]), (12, [1]), (3, [6, 8])]


def gradient_of(model, values, weight):
    model.zero_grad()
    (values * weight).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_same(policy, plain, batch, native_log_probs, *, tolerance):
    """Values, and the parameter gradient of a random linear functional of them."""
    ours = policy.log_probs(batch)
    native = native_log_probs(plain, batch, policy.temperature)
    torch.testing.assert_close(ours, native.to(ours.dtype), rtol=tolerance, atol=tolerance)
    assert not batch.candidates.mask.logical_not().logical_and(ours != 0).any()
    weight = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1), dtype=ours.dtype)
    got, want = gradient_of(policy.model, ours, weight), gradient_of(plain, native, weight)
    assert got.keys() == want.keys()
    largest = max(g.abs().max().item() for g in want.values())
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=0, atol=tolerance * largest, msg=lambda m, n=name: n + m)


@pytest.mark.parametrize("kind", f"{EXACT} {ROUNDED}".split())
def test_a_shared_prompt_gives_what_separate_rows_give(kind, family, batch_of, native_log_probs):
    plain = family(kind)
    policy = Policy(copy.deepcopy(plain), None)
    assert policy.shares_prompts, policy.notes
    assert policy.notes == []
    assert_same(policy, plain, batch_of(SHAPE), native_log_probs, tolerance=TOLERANCE[kind])


@pytest.mark.parametrize("kind", SEPARATE.split())
def test_families_that_cannot_share_fall_back_and_say_so(kind, family, batch_of, native_log_probs):
    plain = family(kind)
    policy = Policy(copy.deepcopy(plain), None)
    assert not policy.shares_prompts
    (note,) = policy.notes
    assert type(plain).__name__ in note
    assert "not shared" in note
    assert_same(policy, plain, batch_of(SHAPE), native_log_probs, tolerance=TOLERANCE[kind])


def random_shape(rng):
    lengths = [1, 1, 2, 3, 7, 15]
    return [
        (rng.choice(lengths), [rng.choice(lengths) for _ in range(rng.randint(1, 5))]) for _ in range(rng.randint(1, 4))
    ]


@pytest.mark.parametrize("kind", ["gpt2", "phi", "starcoder2", "mistral"])
def test_any_shape_and_any_mask(kind, family, batch_of, native_log_probs):
    plain = family(kind)
    policy = Policy(copy.deepcopy(plain), None)
    rng = random.Random(kind)
    edges = [[(1, [1])], [(5, [1, 1]), (1, [1])], [(1, [15])], [(9, [1, 12]), (2, [3])]]
    for seed, shape in enumerate(edges + [random_shape(rng) for _ in range(15)]):
        batch = batch_of(shape, seed=seed, masked=seed % 2 == 1)
        if batch.candidates.mask.any():
            assert_same(policy, plain, batch, native_log_probs, tolerance=TOLERANCE[kind])


def test_sharing_off_gives_the_same(family, batch_of, native_log_probs):
    plain = family("starcoder2")
    policy = Policy(copy.deepcopy(plain), None, share_prompts=False)
    assert not policy.shares_prompts
    assert_same(policy, plain, batch_of(SHAPE, masked=True), native_log_probs, tolerance=1e-12)


def test_temperature_divides_the_logits(family, batch_of, native_log_probs):
    plain = family("starcoder2")
    policy = Policy(copy.deepcopy(plain), None)
    policy.temperature = 0.7
    assert_same(policy, plain, batch_of(SHAPE), native_log_probs, tolerance=1e-12)
    warm = policy.log_probs(batch_of(SHAPE))
    policy.temperature = 1.0
    assert (warm - policy.log_probs(batch_of(SHAPE))).abs().max() > 0.01


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_nothing_crosses_a_border(kind, family, groups_of):
    """Other groups' tokens, and other responses of the same prompt, change nothing, not even in the last bit."""
    policy = Policy(family(kind), None)
    groups = groups_of([(6, [5, 8]), (9, [4, 4]), (6, [7])])
    before = policy.log_probs(collate(groups))
    other = groups_of([(6, [5, 8]), (9, [4, 4]), (6, [7])], seed=1)
    for changed in range(3):
        after = policy.log_probs(collate([other[g] if g == changed else groups[g] for g in range(3)]))
        rows = torch.tensor(collate(groups).prompt_of) == changed
        assert torch.equal(after[~rows], before[~rows])
        assert (after[rows] != before[rows]).any(1).all()
    sibling = replace(groups[0], completions=(groups[0].completions[0], other[0].completions[1]))
    after = policy.log_probs(collate([sibling, *groups[1:]]))
    assert torch.equal(after[[0, 2, 3, 4]], before[[0, 2, 3, 4]])
    assert (after[1] != before[1]).any()


def test_a_token_sees_all_of_its_past_and_none_of_its_future(family, groups_of):
    policy = Policy(family("llama"), None)
    (group,) = groups_of([(5, [6])])
    before = policy.log_probs(collate([group]))[0]
    for place in range(5):
        ids = tuple(3 if i == place else t for i, t in enumerate(group.prompt_ids))
        assert (policy.log_probs(collate([replace(group, prompt_ids=ids)]))[0] != before).all()
    for place in range(6):
        ids = tuple(4 if i == place else t for i, t in enumerate(group.completions[0].token_ids))
        changed = replace(group, completions=(replace(group.completions[0], token_ids=ids),))
        moved = policy.log_probs(collate([changed]))[0] != before
        assert moved.tolist() == [i >= place for i in range(6)]


def test_a_window_that_the_layers_keep_to_themselves_is_not_missed(family, batch_of, native_log_probs):
    """The probe is shorter than this window; these layers apply it by a mask that the packed row never sees."""
    plain = family(
        "qwen2_moe",
        use_sliding_window=True,
        sliding_window=24,
        max_window_layers=2,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        experts_implementation="eager",
    )
    policy = Policy(copy.deepcopy(plain), None)
    assert_same(policy, plain, batch_of([(40, [9, 3])]), native_log_probs, tolerance=1e-6)


def test_a_family_that_attends_in_chunks_does_not_share(family, batch_of, native_log_probs):
    plain = family(
        "llama4_text",
        attention_chunk_size=24,
        num_local_experts=1,
        intermediate_size_mlp=32,
        experts_implementation="eager",
    )
    policy = Policy(copy.deepcopy(plain), None)
    assert "chunks" in policy.notes[0]
    assert_same(policy, plain, batch_of([(40, [9, 3])]), native_log_probs, tolerance=1e-6)


def test_gather_is_indexing():
    x = torch.randn(6, 2, 3, dtype=torch.float64, requires_grad=True)
    place = torch.tensor([[5, 0], [5, 2], [1, 1]])
    weight = torch.randn(3, 2, 2, 3, dtype=torch.float64)
    assert torch.equal(gather(x, place), x[place])
    (ours,) = torch.autograd.grad((gather(x, place) * weight).sum(), x)
    (plain,) = torch.autograd.grad((x[place] * weight).sum(), x)
    torch.testing.assert_close(ours, plain, rtol=0, atol=1e-15)
