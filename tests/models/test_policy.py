"""The policy: what it computes, what it refuses, its reference view, and what it saves."""

import copy
import json

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, AutoTokenizer

from groupwise.errors import ConfigError, ModelError
from groupwise.models.policy import Policy
from groupwise.models.prefix import ATTENTION
from groupwise.models.probe import probe_batch
from groupwise.models.tiny import make_tiny
from groupwise.models.trained import LoraConfig

# peft asks transformers by a name that is being renamed
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")

VOCABULARY = 97  # no other size in these models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny(tmp_path_factory.mktemp("tiny") / "model", hidden_size=32, layers=2, heads=2)


@pytest.fixture(scope="module")
def batch(folder):
    return probe_batch(len(AutoTokenizer.from_pretrained(folder)), "cpu")


def perturb(policy, size=0.05):
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += size * torch.randn_like(parameter)


class LogitRows(TorchDispatchMode):
    """Rows of every matrix product that ends in the vocabulary."""

    rows = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm) and out.shape[-1] == VOCABULARY:
            self.rows += len(out)
        return out


@pytest.mark.parametrize("share", [True, False])
def test_only_scored_positions_get_logits(share, family, batch_of):
    policy = Policy(family("llama"), None, share_prompts=share)
    assert policy.shares_prompts == share
    batch = batch_of([(11, [5, 3]), (8, [4])], masked=True)
    scored = int(batch.candidates.mask.sum())
    assert 0 < scored < 12
    with LogitRows() as counted, torch.no_grad():
        policy.log_probs(batch)
    assert counted.rows == scored
    with LogitRows() as counted, torch.no_grad():
        policy.model.lm_head(torch.zeros(11, 32, dtype=torch.float64))
    assert counted.rows == 11  # the count does see such rows


def test_dropout_is_off(family, batch_of):
    model = family("gpt2", resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5).train()
    policy = Policy(model, None)
    batch = batch_of([(4, [6, 2])])
    assert torch.equal(policy.log_probs(batch), policy.log_probs(batch))


def test_a_family_that_changes_its_logits_otherwise_is_refused(family):
    class Shifted(type(family("llama"))):
        def forward(self, *args, **kwargs):
            out = super().forward(*args, **kwargs)
            out.logits = out.logits * 1.5
            return out

    with pytest.raises(ModelError, match=r"Shifted.*logits"):
        Policy(Shifted(family("llama").config).double(), None)


def test_the_reference_view_is_the_policy_at_the_start_and_stays(folder, batch):
    policy = Policy.load(folder, dtype="float64", lora=LoraConfig(rank=4))
    assert policy.adapted
    start = policy.log_probs(batch)
    with policy.reference_view() as reference:
        assert torch.equal(reference.log_probs(batch), start)
    plain = Policy.load(folder, dtype="float64")
    torch.testing.assert_close(start, plain.log_probs(batch), rtol=1e-6, atol=1e-6)
    perturb(policy)
    assert (policy.log_probs(batch) - start).abs().max() > 0.01
    with policy.reference_view() as reference:
        assert torch.equal(reference.log_probs(batch), start)
    assert (policy.log_probs(batch) - start).abs().max() > 0.01  # the adapter is on again


def test_only_adapters_are_trained(folder, batch):
    policy = Policy.load(folder, lora=LoraConfig(rank=4))
    names = [name for name, p in policy.module.named_parameters() if p.requires_grad]
    assert names
    assert all("lora_" in name for name in names)
    policy.log_probs(batch).sum().backward()
    assert all(p.grad is not None for p in policy.parameters())
    assert len(policy.parameters()) == len(names)


def test_without_adapters_there_is_no_reference_view(folder):
    with pytest.raises(ModelError, match="second Policy"), Policy.load(folder).reference_view():
        pass


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=4)])
def test_a_saved_policy_is_an_ordinary_folder(lora, folder, batch, tmp_path, native_log_probs):
    policy = Policy.load(folder, dtype="float64", lora=lora)
    perturb(policy)
    before = policy.log_probs(batch)
    policy.save(tmp_path)
    assert torch.equal(policy.log_probs(batch), before)  # saving changes nothing
    assert policy.model.config._attn_implementation == ATTENTION
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert ATTENTION not in (tmp_path / "config.json").read_text()
    torch.testing.assert_close(native_log_probs(model, batch), before, rtol=1e-6, atol=1e-6)
    assert AutoTokenizer.from_pretrained(tmp_path).eos_token_id == policy.tokenizer.eos_token_id
    torch.testing.assert_close(Policy.load(tmp_path, dtype="float64").log_probs(batch), before, rtol=1e-6, atol=1e-6)


def test_lora_save_goes_on_training_afterwards(folder, batch, tmp_path):
    policy = Policy.load(folder, lora=LoraConfig(rank=4))
    policy.save(tmp_path)
    policy.log_probs(batch).sum().backward()
    assert any(p.grad.abs().max() > 0 for p in policy.parameters())


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=4)])
def test_gradient_checkpointing_gives_the_same_gradient(lora, folder, batch):
    gradients, recomputed = [], []
    for checkpointing in (False, True):
        torch.manual_seed(0)  # the adapters' start
        policy = Policy.load(folder, dtype="float64", lora=lora, gradient_checkpointing=checkpointing)
        perturb(policy)
        calls = []
        layer = policy.module.decoder.layers[0].mlp
        layer.register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        policy.log_probs(batch).sum().backward()
        recomputed.append(len(calls))
        gradients.append([p.grad for p in policy.parameters()])
    assert recomputed == [1, 2]
    for plain, other in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=4)])
def test_bfloat16_is_finite_and_close(lora, folder, batch):
    exact = Policy.load(folder).log_probs(batch)
    policy = Policy.load(folder, dtype="bfloat16", lora=lora)
    assert policy.shares_prompts
    assert {p.dtype for p in policy.parameters()} == {torch.float32}
    frozen = {p.dtype for p in policy.module.parameters() if not p.requires_grad}
    assert frozen == ({torch.bfloat16} if lora else set())
    out = policy.log_probs(batch)
    assert out.dtype == torch.float32
    difference = (out - exact).abs()
    assert 0 < difference.max() < 0.2
    out.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in policy.parameters())


def test_an_unknown_precision_is_refused(folder):
    with pytest.raises(ConfigError, match=r'model.dtype = "float16".*float32, bfloat16, float64'):
        Policy.load(folder, dtype="float16")


def test_loading_and_policies_leave_the_callers_model_class_alone(family, batch_of, native_log_probs):
    """Two models of one class: sharing prompts in one changes nothing in the other."""
    plain, other = family("llama"), family("llama")
    before = native_log_probs(plain, batch_of([(4, [3])]))
    assert Policy(other, None).shares_prompts
    assert torch.equal(native_log_probs(plain, batch_of([(4, [3])])), before)
    assert plain.config._attn_implementation != ATTENTION


def test_a_deep_copy_of_a_policy_is_a_frozen_reference(family, batch_of):
    policy = Policy(family("llama"), None)
    batch = batch_of([(4, [3, 5])])
    reference = copy.deepcopy(policy)
    start = policy.log_probs(batch)
    perturb(policy)
    assert torch.equal(reference.log_probs(batch), start)
    assert (policy.log_probs(batch) != start)[batch.candidates.mask].all()


def test_saved_configuration_says_its_dtype(folder, tmp_path):
    Policy.load(folder, dtype="bfloat16").save(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float32"


def test_a_module_without_a_decoder_is_refused(family):
    model = family("llama")
    model.inner = model.model
    model.base_model_prefix = "inner"
    del model.model
    model.inner.get_decoder = lambda: model
    with pytest.raises(ModelError, match="no decoder"):
        Policy(model, None)
