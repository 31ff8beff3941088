"""The estimators against the exact divergence of a policy small enough to enumerate."""

import math

import pytest
import torch

from groupwise.functional.divergences import ESTIMATORS, exact, k1, k2, k3

V = 6


@pytest.fixture
def policy():
    """Logits of a policy over V tokens, and the log-probabilities of a reference."""
    draw = torch.Generator().manual_seed(1)
    logits = torch.randn(V, generator=draw, dtype=torch.float64, requires_grad=True)
    return logits, torch.randn(V, generator=draw, dtype=torch.float64).log_softmax(-1)


def expected_gradient(estimator, logits, ref):
    """Mean over y ~ pi of d/dtheta estimator(log pi(y), log ref(y)): what a loss on samples follows."""
    logp = logits.log_softmax(-1)
    (gradient,) = torch.autograd.grad((logp.exp().detach() * estimator(logp, ref)).sum(), logits)
    return gradient


def test_by_hand():
    d, ref = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64), torch.tensor([-1.0, -3.0, -0.5], dtype=torch.float64)
    assert k1(ref + d, ref).tolist() == pytest.approx([0, 1, -2])
    assert k2(ref + d, ref).tolist() == pytest.approx([0, 0.5, 2])
    assert k3(ref + d, ref).tolist() == pytest.approx([0, math.exp(-1), math.exp(2) - 3])
    assert {"k1": k1, "k2": k2, "k3": k3} == ESTIMATORS


def test_exact_against_a_loop(policy):
    logits, ref = policy
    logp = logits.detach().log_softmax(-1)
    kl = sum(math.exp(p) * (p - q) for p, q in zip(logp.tolist(), ref.tolist(), strict=True))
    assert exact(logp, ref).item() == pytest.approx(kl, rel=1e-12)
    assert exact(logp, logp).item() == 0


@pytest.mark.parametrize(("estimator", "unbiased"), [(k1, True), (k2, False), (k3, True)])
def test_bias_of_the_value(policy, estimator, unbiased):
    logits, ref = policy
    logp = logits.detach().log_softmax(-1)
    mean = (logp.exp() * estimator(logp, ref)).sum().item()
    assert (mean == pytest.approx(exact(logp, ref).item(), rel=1e-12)) is unbiased


def test_bias_of_the_gradient_as_a_loss(policy):
    logits, ref = policy
    (truth,) = torch.autograd.grad(exact(logits.log_softmax(-1), ref), logits)
    assert expected_gradient(k1, logits, ref).abs().max() < 1e-15
    torch.testing.assert_close(expected_gradient(k2, logits, ref), truth)
    assert (expected_gradient(k3, logits, ref) - truth).abs().max() > 0.01
    # What k3 follows is the forward divergence KL(ref || pi), whose gradient is pi - ref
    torch.testing.assert_close(expected_gradient(k3, logits, ref), logits.detach().softmax(-1) - ref.exp())


def test_variance_of_the_value(policy):
    logits, ref = policy
    logp = logits.detach().log_softmax(-1)
    near = (0.9 * ref + 0.1 * logp).log_softmax(-1)

    def variance(estimator):
        value = estimator(near, ref)
        return (near.exp() * (value - (near.exp() * value).sum()) ** 2).sum().item()

    assert variance(k3) < variance(k1) / 10
    assert variance(k2) < variance(k1) / 10


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_gradients_are_exact_to_rounding(dtype):
    """d(k1) = 1, d(k2) = d, d(k3) = 1 - exp(-d): in the precision that training runs in."""
    d = torch.tensor([-19.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 3.0, 40.0], dtype=dtype)
    expected = {"k1": lambda x: 1.0, "k2": lambda x: x, "k3": lambda x: -math.expm1(-x)}
    for name, estimator in ESTIMATORS.items():
        logp = d.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(estimator(logp, torch.zeros_like(d)).sum(), logp)
        rule = [expected[name](x) for x in d.tolist()]
        assert gradient.tolist() == pytest.approx(rule, rel=1e-6 if dtype == torch.float32 else 1e-14, abs=1e-7)


def test_k3_far_below_the_reference_is_finite_and_pulls_back():
    logp = torch.tensor([-10.0, -19.9, -20.1, -30.0, -1e4], requires_grad=True)
    value = k3(logp, torch.zeros(5))
    assert value.isfinite().all()
    assert (value.diff() > 0).all()
    value.sum().backward()
    assert (logp.grad < 0).all()
    assert logp.grad.isfinite().all()


def test_a_token_of_probability_zero_adds_nothing_to_the_exact_divergence():
    logits = torch.tensor([0.5, -torch.inf, 1.0], dtype=torch.float64, requires_grad=True)
    ref = torch.tensor([0.2, -torch.inf, 0.1], dtype=torch.float64).log_softmax(-1)
    two = logits.detach()[[0, 2]].requires_grad_()
    value = exact(logits.log_softmax(-1), ref)
    expected = exact(two.log_softmax(-1), ref[[0, 2]])
    assert value.item() == pytest.approx(expected.item())
    value.backward()
    expected.backward()
    assert logits.grad.tolist() == pytest.approx([two.grad[0].item(), 0, two.grad[1].item()])
