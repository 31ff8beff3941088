"""The chunked head gives what log_softmax and a look-up give, and never holds all logits."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from groupwise.errors import ModelError
from groupwise.models import head as module
from groupwise.models.head import Head

M, D, V = 13, 5, 31


class Created(TorchDispatchMode):
    """The largest tensor that any operation makes, forward or backward."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        self.largest = max([self.largest, *sizes])
        return out


def head_of(*, bias=False, seed=0, **config):
    torch.manual_seed(seed)
    layer = nn.Linear(D, V, bias=bias, dtype=torch.float64)
    settings = SimpleNamespace(**config)
    settings.get_text_config = lambda: settings
    return Head(SimpleNamespace(config=settings, get_output_embeddings=lambda: layer))


def inputs(seed=0, rows=M):
    generator = torch.Generator().manual_seed(seed)
    hidden = 3 * torch.randn(rows, D, dtype=torch.float64, generator=generator)
    targets = torch.randint(V, (rows,), generator=generator)
    weight = torch.randn(rows, dtype=torch.float64, generator=generator)
    return hidden.requires_grad_(), targets, weight


def plain(head, hidden, targets, temperature, scale, cap):
    z = scale * head.layer(hidden)
    if cap is not None:
        z = cap * torch.tanh(z / cap)
    return torch.log_softmax(z / temperature, -1).gather(1, targets[:, None])[:, 0]


@pytest.mark.parametrize("rows", [1, 2, 4, M, 10 * M])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("config", "scale", "cap"),
    [
        ({}, 1.0, None),
        ({"logit_scale": 0.25}, 0.25, None),
        ({"logits_scaling": 8.0}, 0.125, None),
        ({"final_logit_softcapping": 2.0}, 1.0, 2.0),
        ({"final_logit_softcapping": 3.0, "logit_scale": 4.0}, 4.0, 3.0),
    ],
)
def test_values_and_gradients(rows, temperature, bias, config, scale, cap, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ENTRIES", rows * V)
    head = head_of(bias=bias, **config)
    hidden, targets, weight = inputs()
    ours = head.log_probs(hidden, targets, temperature=temperature)
    want = plain(head, hidden, targets, temperature, scale, cap)
    torch.testing.assert_close(ours, want, rtol=1e-13, atol=1e-13)
    leaves = [hidden, *head.layer.parameters()]
    for got, expected in zip(
        torch.autograd.grad((ours * weight).sum(), leaves),
        torch.autograd.grad((want * weight).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_only_what_is_trained():
    head = head_of(bias=True)
    head.layer.requires_grad_(False)
    hidden, targets, weight = inputs()
    (got,) = torch.autograd.grad((head.log_probs(hidden, targets) * weight).sum(), hidden)
    (want,) = torch.autograd.grad((plain(head, hidden, targets, 1.0, 1.0, None) * weight).sum(), hidden)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    assert head.layer.weight.grad is None
    head.layer.requires_grad_(True)
    head.log_probs(hidden.detach(), targets).sum().backward()
    assert head.layer.weight.grad is not None


def test_no_rows_give_no_values():
    head = head_of()
    hidden, targets, _ = inputs(rows=0)
    out = head.log_probs(hidden, targets)
    assert out.shape == (0,)
    out.sum().backward()
    assert head.layer.weight.grad.abs().max() == 0


def test_finite_for_huge_logits():
    head = head_of()
    hidden, targets, _ = inputs()
    out = head.log_probs(1e4 * hidden, targets)
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert torch.isfinite(hidden.grad).all()


def test_half_precision_states_are_scored_in_float32():
    head = head_of()
    head.layer.to(torch.bfloat16)
    hidden, targets, _ = inputs()
    low = hidden.detach().bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = head.log_probs(low, targets)
    z = low.float() @ head.layer.weight.float().T
    torch.testing.assert_close(out, z.log_softmax(-1).gather(1, targets[:, None])[:, 0], rtol=1e-5, atol=1e-5)
    assert head.logits(low).dtype == torch.float32


def test_all_logits_are_never_held(monkeypatch):
    """Neither made nor saved, forward or backward; what is counted here would see them if they were."""
    rows, held = 64, 4
    monkeypatch.setattr(module, "CHUNK_ENTRIES", held * V)
    head = head_of(bias=True, final_logit_softcapping=5.0)
    hidden, targets, _ = inputs(rows=rows)
    saved = []

    def peak(compute):
        saved.clear()
        with (
            Created() as created,
            torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.numel()) or t, lambda t: t),
        ):
            compute().sum().backward()
        return created.largest

    chunked = peak(lambda: head.log_probs(hidden, targets, temperature=0.9))
    assert chunked <= max(held * V, rows * D, V * D)
    assert max(saved) <= max(rows * D, V * D)
    assert peak(lambda: plain(head, hidden, targets, 0.9, 1.0, 5.0)) >= rows * V
    assert max(saved) >= rows * V


@pytest.mark.parametrize("tied", [True, False])
def test_tied_and_untied_embeddings(tied, family, batch_of, native_log_probs):
    from groupwise.models.policy import Policy

    model = family("gpt2", tie_word_embeddings=tied)
    policy = Policy(model, None, share_prompts=False)
    batch = batch_of([(4, [3, 5])])
    policy.log_probs(batch).sum().backward()
    got = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    native_log_probs(model, batch).sum().backward()
    assert ("lm_head.weight" in got) != tied
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(got[name], parameter.grad, rtol=1e-9, atol=1e-11)


def test_an_output_layer_that_is_not_linear_is_refused():
    layer = nn.Sequential(nn.Linear(D, V))
    with pytest.raises(ModelError, match=r"Sequential.*lm_head"):
        Head(SimpleNamespace(get_output_embeddings=lambda: layer))
