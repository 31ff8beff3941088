"""The local engine: what it samples is what the policy says, for each candidate on its own."""

import copy
from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from groupwise.candidates import Group
from groupwise.data.batch import collate
from groupwise.engines import caches, local
from groupwise.engines.local import LocalEngine
from groupwise.engines.sampling import Sampling
from groupwise.errors import ModelError

SHARING = ["llama", "mistral", "gpt2", "starcoder2", "opt"]
KINDS = [*SHARING, "gemma2", "mamba"]
PROMPTS = [(5, 9, 13), (4, 8, 15, 16, 23, 42, 10, 11), (30, 31, 32), (20,)]
SEEDS = [11, 12, 13, 14]
TOLERANCE = {"gemma2": 1e-5, "mamba": 1e-4, "llama": 1e-6, "mistral": 1e-6}  # these round to float32 inside


def engine_of(policy, *, end_ids=(5, 6, 7, 8, 9), **options):
    engine = LocalEngine(policy, **options)
    engine.end_ids = frozenset(end_ids)  # several, so that candidates of a random model end at different times
    return engine


def tokens(groups):
    return [[c.token_ids for c in group] for group in groups]


def scored(prompts, groups):
    return collate(
        [
            Group(prompt_ids=prompt, completions=tuple(replace(c, score=1.0) for c in group))
            for prompt, group in zip(prompts, groups, strict=True)
        ]
    )


@pytest.fixture(params=[0, 10**9], ids=["shared", "copied"])
def keys(request, monkeypatch):
    """Both ways of attending to the prompt's keys, whatever their number."""
    monkeypatch.setattr(caches, "FEW", request.param)


@pytest.fixture(scope="module")
def llama(policy_of):
    return policy_of("llama")


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_the_policys(keys, kind, temperature, policy_of):
    policy = policy_of(kind)
    assert policy.shares_prompts == (kind not in ("gemma2", "mamba"))
    groups = engine_of(policy).generate(PROMPTS, Sampling(k=4, max_new_tokens=20, temperature=temperature), seeds=SEEDS)
    assert len({len(c.token_ids) for group in groups for c in group}) > 2  # rows that end at different times
    batch = scored(PROMPTS, groups)
    policy.temperature = temperature
    with torch.no_grad():
        want = policy.log_probs(batch)[batch.candidates.mask]
    got = torch.tensor([lp for group in groups for c in group for lp in c.logprobs], dtype=want.dtype)
    tolerance = TOLERANCE.get(kind, 1e-10)
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_generates(kind, policy_of):
    policy = policy_of(kind)
    engine = engine_of(policy, end_ids=(5, 6))
    groups = engine.generate(PROMPTS, Sampling(k=1, max_new_tokens=15, temperature=0), seeds=SEEDS)
    plain = copy.deepcopy(policy.model)
    plain.set_attn_implementation("eager")
    for prompt, (ours,) in zip(PROMPTS, groups, strict=True):
        ids = torch.tensor([prompt])
        out = plain.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=15,
            eos_token_id=[5, 6],
            pad_token_id=0,
        )
        assert ours.token_ids == tuple(out[0, len(prompt) :].tolist())


@pytest.mark.parametrize(
    ("kind", "few"),
    [("llama", 0), ("starcoder2", 0), ("starcoder2", 200), ("gpt2", 10**9), ("gemma2", 0), ("mamba", 0)],
)
def test_a_candidate_does_not_depend_on_its_company(kind, few, policy_of, monkeypatch):
    """Alone or in a crowd, in waves of any size, and however early finished rows leave."""
    policy = policy_of(kind)
    sampling = Sampling(k=4, max_new_tokens=20)
    monkeypatch.setattr(caches, "FEW", few)  # at 200, a row changes its way of attending as it grows
    together = tokens(engine_of(policy).generate(PROMPTS, sampling, seeds=SEEDS))
    for prompt, seed, group in zip(PROMPTS, SEEDS, together, strict=True):
        assert tokens(engine_of(policy).generate([prompt], sampling, seeds=[seed])) == [group]
    for max_rows in (1, 4, 9):
        assert tokens(engine_of(policy, max_rows=max_rows).generate(PROMPTS, sampling, seeds=SEEDS)) == together
    backwards = engine_of(policy).generate(PROMPTS[::-1], sampling, seeds=SEEDS[::-1])
    assert tokens(backwards)[::-1] == together
    fewer = tokens(engine_of(policy).generate(PROMPTS, replace(sampling, k=2), seeds=SEEDS))
    assert fewer == [group[:2] for group in together]


@pytest.mark.parametrize("leave_at", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["llama", "starcoder2", "mamba"])
def test_finished_rows_leave_and_nobody_notices(keys, kind, leave_at, policy_of, monkeypatch):
    policy = policy_of(kind)
    fed = []
    policy.module.decoder.register_forward_pre_hook(
        lambda module, args, kwargs: fed.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    sampling = Sampling(k=4, max_new_tokens=20)
    prompts, seeds = [PROMPTS[0], PROMPTS[2]], [1, 2]  # of one length: one wave in either way of running
    monkeypatch.setattr(local, "LEAVE_AT", 0.85)
    want = engine_of(policy).generate(prompts, sampling, seeds=seeds)
    fed.clear()
    monkeypatch.setattr(local, "LEAVE_AT", leave_at)
    got = engine_of(policy).generate(prompts, sampling, seeds=seeds)
    assert tokens(got) == tokens(want)
    length = [len(c.token_ids) for group in got for c in group]
    assert min(length) < 5 < max(length)
    steps = fed[1:]  # the first is the prompts
    running = [sum(n > t for n in length) for t in range(1, max(length))]
    if leave_at == 1.0:
        assert steps == running
    elif leave_at == 0.0:
        assert steps == [8] * len(running)
    else:
        assert all(r <= s <= 2 * r for s, r in zip(steps, running, strict=True))
        assert steps[-1] < 8


def test_both_caches_give_the_same(policy_of):
    shared, separate = policy_of("llama"), policy_of("llama", share_prompts=False)
    assert (shared.shares_prompts, separate.shares_prompts) == (True, False)
    for sampling in (Sampling(k=3, max_new_tokens=18), Sampling(k=2, max_new_tokens=18, temperature=0.5, top_p=0.9)):
        one = engine_of(shared).generate(PROMPTS, sampling, seeds=SEEDS)
        other = engine_of(separate).generate(PROMPTS, sampling, seeds=SEEDS)
        assert tokens(one) == tokens(other)
        for a, b in zip(one, other, strict=True):
            for c, d in zip(a, b, strict=True):
                assert c.logprobs == pytest.approx(d.logprobs, abs=1e-6)


def test_seeds_decide(llama):
    sampling = Sampling(k=3, max_new_tokens=12)
    first = engine_of(llama).generate(PROMPTS, sampling, seeds=SEEDS)
    assert first == engine_of(llama).generate(PROMPTS, sampling, seeds=SEEDS)
    other = engine_of(llama).generate(PROMPTS, sampling, seeds=[99, *SEEDS[1:]])
    assert tokens(other)[0] != tokens(first)[0]
    assert tokens(other)[1:] == tokens(first)[1:]
    for group in first:
        assert len({c.token_ids for c in group}) == 3  # candidates of a group differ


def test_the_first_token_has_the_models_distribution(llama):
    prompt = PROMPTS[1]
    (group,) = engine_of(llama, max_rows=4000).generate([prompt], Sampling(k=4000, max_new_tokens=1), seeds=[5])
    plain = copy.deepcopy(llama.model)
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        expected = plain(torch.tensor([prompt])).logits[0, -1].softmax(-1) * 4000
    count = torch.bincount(torch.tensor([c.token_ids[0] for c in group]), minlength=len(expected))
    large = expected > 5
    assert large.sum() > 10
    statistic = ((count - expected)[large] ** 2 / expected[large]).sum().item()
    degrees = int(large.sum())
    assert statistic < degrees + 3.1 * (2 * degrees) ** 0.5 + 4  # one in a thousand


def test_why_a_candidate_ended(llama):
    (group,) = engine_of(llama).generate([PROMPTS[0]], Sampling(k=16, max_new_tokens=12), seeds=[3])
    assert {c.finish_reason for c in group} == {"stop", "length"}
    for c in group:
        assert len(c.logprobs) == len(c.token_ids) <= 12
        ends = [i in (5, 6, 7, 8, 9) for i in c.token_ids]
        assert not any(ends[:-1])
        assert ends[-1] == (c.finish_reason == "stop")  # the token that ended it is among its tokens
        assert len(c.token_ids) == 12 or c.finish_reason == "stop"
        assert c.text == llama.tokenizer.decode(c.token_ids, skip_special_tokens=True)
        assert c.score is None


def test_the_end_token_is_not_in_the_text(llama):
    engine = LocalEngine(llama)
    assert engine.end_ids == {llama.tokenizer.eos_token_id}
    (group,) = engine.generate([PROMPTS[0]], Sampling(k=64, max_new_tokens=30), seeds=[3])
    ended = [c for c in group if c.finish_reason == "stop"]
    assert ended
    for c in ended:
        assert c.token_ids[-1] == llama.tokenizer.eos_token_id
        assert "<|end|>" not in c.text


def test_stop_strings_cut_the_text_and_keep_the_tokens(llama):
    free = engine_of(llama, end_ids=()).generate([PROMPTS[0]], Sampling(k=12, max_new_tokens=12), seeds=[4])[0]
    first, second = free[0].text[4:6], free[1].text[7]
    sampling = Sampling(k=12, max_new_tokens=12, stop=(first, second))
    group = engine_of(llama, end_ids=()).generate([PROMPTS[0]], sampling, seeds=[4])[0]
    for c, whole in zip(group, free, strict=True):
        places = [whole.text.index(s) for s in (first, second) if s in whole.text]
        assert c.text == whole.text[: min(places, default=None)]
        assert c.token_ids == whole.token_ids[: len(c.token_ids)]
        if places:
            assert c.finish_reason == "stop_string"
            assert any(llama.tokenizer.decode(c.token_ids).endswith(s) for s in (first, second))
        else:
            assert c.finish_reason == "length"
    assert {c.finish_reason for c in group} == {"stop_string", "length"}


@pytest.mark.parametrize(
    "sampling", [Sampling(top_k=2), Sampling(top_p=0.4), Sampling(top_k=5, top_p=0.6, temperature=0.8)]
)
def test_filters_renormalise_and_never_leave_the_kept_tokens(sampling, llama):
    groups = engine_of(llama).generate(PROMPTS, replace(sampling, k=4, max_new_tokens=8), seeds=SEEDS)
    plain = copy.deepcopy(llama.model)
    plain.set_attn_implementation("eager")
    for prompt, group in zip(PROMPTS, groups, strict=True):
        for c in group:
            with torch.no_grad():
                logits = plain(torch.tensor([prompt + c.token_ids])).logits[0, len(prompt) - 1 : -1]
            for z, token, logprob in zip(logits / sampling.temperature, c.token_ids, c.logprobs, strict=True):
                order = z.argsort(descending=True)[: sampling.top_k or None]
                p = z[order].softmax(0)
                kept = order[p.cumsum(0) - p < sampling.top_p]
                assert token in kept
                want = z[token] - z[kept].logsumexp(0)
                assert logprob == pytest.approx(want.item(), abs=1e-6)


@pytest.mark.parametrize("max_rows", [2, 64])
def test_groups_are_told_of_as_they_finish(llama, max_rows):
    sampling = Sampling(k=2, max_new_tokens=6)
    engine = engine_of(llama, max_rows=max_rows)
    told = []
    groups = engine.generate(PROMPTS, sampling, seeds=SEEDS, done=lambda i, found: told.append((i, found)))
    assert [found for _, found in sorted(told, key=lambda one: one[0])] == groups
    ends = [max(len(completion.token_ids) for completion in found) for _, found in told]
    assert ends == sorted(ends) or max_rows == 2  # within one wave the first to end is the first told of
    assert engine.generate([], sampling, seeds=[]) == []


def test_it_samples_from_the_weights_as_they_are_now(policy_of):
    policy = policy_of("llama")
    engine = engine_of(policy)
    sampling = Sampling(k=2, max_new_tokens=10)
    before = engine.generate(PROMPTS, sampling, seeds=SEEDS)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    after = engine.generate(PROMPTS, sampling, seeds=SEEDS)
    assert tokens(after) != tokens(before)
    original = engine_of(policy)
    original.load_weights(policy_of("llama"))
    assert tokens(original.generate(PROMPTS, sampling, seeds=SEEDS)) == tokens(before)


def test_sampling_leaves_training_undisturbed(policy_of):
    """A gradient right after sampling is the gradient without it."""
    gradients = []
    for sample_first in (False, True):
        policy = policy_of("starcoder2")
        groups = engine_of(policy).generate(PROMPTS, Sampling(k=2, max_new_tokens=6), seeds=SEEDS)
        policy = policy_of("starcoder2")
        if sample_first:
            engine_of(policy).generate(PROMPTS, Sampling(k=2, max_new_tokens=6), seeds=SEEDS)
        policy.log_probs(scored(PROMPTS, groups)).sum().backward()
        gradients.append([p.grad for p in policy.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_gradient_checkpointing_changes_no_sample(kind, policy_of):
    policy = policy_of(kind)
    sampling = Sampling(k=2, max_new_tokens=10)
    want = engine_of(policy).generate(PROMPTS, sampling, seeds=SEEDS)
    enable = (
        getattr(policy.model, "activation_checkpointing_enable", None) or policy.model.gradient_checkpointing_enable
    )
    enable({"use_reentrant": False})
    policy.model.set_attn_implementation("eager")
    again = type(policy)(policy.model, policy.tokenizer)  # the constructor sets what trains
    assert any(m.training for m in again.model.modules())
    assert tokens(engine_of(again).generate(PROMPTS, sampling, seeds=SEEDS)) == tokens(want)


def test_logits_that_are_not_numbers_stop_it(policy_of):
    policy = policy_of("llama")
    with torch.no_grad():
        policy.model.model.norm.weight[0] = torch.nan
    with pytest.raises(ModelError, match="NaN or infinite"):
        engine_of(policy).generate(PROMPTS, Sampling(k=2, max_new_tokens=3), seeds=SEEDS)


def merging_tokenizer():
    """Encodes `ab` as one token; a model may as well write it as two."""
    vocabulary = {"<pad>": 0, "<end>": 1, "a": 2, "b": 3, "ab": 4, "aba": 5}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "b"), ("ab", "a")]))
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<end>")


def test_tokens_are_trained_on_as_sampled(policy_of):
    """Decoding and encoding again would give other ids: the batch carries the sampled ones."""
    tokenizer = merging_tokenizer()
    policy = policy_of("llama", tokenizer=tokenizer)
    groups = LocalEngine(policy).generate([(2, 3), (4,)], Sampling(k=16, max_new_tokens=10), seeds=[1, 2])
    changed = [c for group in groups for c in group if tuple(tokenizer(c.text).input_ids) != c.token_ids]
    assert len(changed) > 10
    batch = scored([(2, 3), (4,)], groups)
    assert batch.responses == tuple(c.token_ids for group in groups for c in group)
    with torch.no_grad():
        want = policy.log_probs(batch)[batch.candidates.mask]
    got = torch.tensor([lp for group in groups for c in group for lp in c.logprobs], dtype=want.dtype)
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)
