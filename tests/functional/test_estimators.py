"""Bias of the estimators on a policy small enough to enumerate; and the page that states it."""

import importlib.util
import math
from itertools import product
from pathlib import Path

import pytest
import torch

from groupwise.functional import weights

ROOT = Path(__file__).parents[2]
ESTIMATORS = ("k1", "k2", "k3")


@pytest.fixture(scope="module")
def exact():
    """benchmarks/estimators.py."""
    spec = importlib.util.spec_from_file_location("estimators", ROOT / "benchmarks" / "estimators.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(importlib.sys.modules, "estimators", module)  # dataclasses look their module up
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=["near", "far"])
def ref(request, exact):
    return exact.REFERENCES[request.param]


def softmax(logits: list[float]) -> list[float]:
    total = sum(math.exp(x) for x in logits)
    return [math.exp(x) / total for x in logits]


def chances(theta: list[float]) -> dict[tuple[int, int], float]:
    """Of each response, in plain floats."""
    first = softmax(theta[:3])
    second = [softmax(theta[3 + 3 * a : 6 + 3 * a]) for a in range(3)]
    return {(a, b): first[a] * second[a][b] for a, b in product(range(3), repeat=2)}


def test_the_enumerated_policy_against_plain_floats(exact, ref):
    pi, other = chances(exact.THETA.tolist()), chances(ref.tolist())
    assert sum(pi.values()) == pytest.approx(1, rel=1e-14)
    ours = exact.log_probs(exact.THETA).sum(-1).exp().tolist()
    assert ours == pytest.approx([pi[a, b] for a, b in exact.RESPONSES.tolist()], rel=1e-13)
    kl = sum(p * math.log(p / other[y]) for y, p in pi.items())
    assert exact.kl(exact.THETA, ref).item() == pytest.approx(kl, rel=1e-12)
    assert exact.kl_of_tokens(exact.THETA, ref).item() == pytest.approx(kl, rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_value_of_k1_and_k3_is_unbiased_and_that_of_k2_not(exact, ref, name):
    truth = exact.kl(exact.THETA, ref).item()
    bias = exact.kl_value(name, ref).mean.item() - truth
    if name == "k2":
        assert abs(bias) > 1e-3 * truth
    else:
        assert abs(bias) < 1e-14


def test_the_gradient_as_a_loss(exact, ref):
    """k1: none. k2: the reverse KL of the tokens. k3: their forward KL."""
    theta = exact.parameters()
    tokens = exact.gradient(exact.kl_of_tokens(theta, ref), theta)
    chance = exact.log_probs(exact.THETA).exp()[:, :1]
    policy, reference = ([x[:3].log_softmax(-1), x[3:].view(3, 3).log_softmax(-1)] for x in (theta, ref))
    first_token = chance[::3, 0]  # of each first token, as it is
    forward = (reference[0].exp() * (reference[0] - policy[0])).sum()
    forward = forward + (first_token * (reference[1].exp() * (reference[1] - policy[1])).sum(-1)).sum()
    k1, k2, k3 = (exact.kl_gradient(name, ref).mean for name in ESTIMATORS)
    assert k1.abs().max() < 1e-14
    torch.testing.assert_close(k2, tokens, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(k3, exact.gradient(forward, theta), rtol=1e-12, atol=1e-14)
    assert (k3 - k2).norm() > 0.01 * k2.norm()


def test_in_the_reward_k1_has_the_gradient_of_the_whole_responses_kl(exact, ref):
    theta = exact.parameters()
    whole = exact.gradient(exact.kl(theta, ref), theta)
    torch.testing.assert_close(exact.kl_gradient("k1 in the reward", ref).mean, whole, rtol=1e-12, atol=1e-14)
    assert (exact.kl_gradient("k2", ref).mean - whole).norm() > 0.01 * whole.norm()


def test_gradients_of_the_enumerated_kl_against_differences(exact, ref):
    theta = exact.parameters()
    found = exact.gradient(exact.kl(theta, ref), theta)
    for n in range(len(theta)):
        step = torch.zeros_like(exact.THETA)
        step[n] = 1e-5
        difference = (exact.kl(exact.THETA + step, ref) - exact.kl(exact.THETA - step, ref)).item() / 2e-5
        assert found[n].item() == pytest.approx(difference, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("prompt", ["hard", "even", "easy", "graded"])
def test_leave_one_out_is_the_policy_gradient_and_centered_a_part_of_it(exact, prompt, k):
    truth = exact.true_policy_gradient(prompt)
    ours = {rule: exact.policy_gradient(rule, prompt, k).mean for rule in ("leave_one_out", "centered")}
    torch.testing.assert_close(ours["leave_one_out"], truth, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(ours["centered"], truth * (k - 1) / k, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rule", ["standardized", "ranked", "batch_standardized"])
def test_dividing_by_a_spread_keeps_the_direction_of_binary_scores_only(exact, rule, k):
    for prompt in ("hard", "even", "easy"):
        cosine = exact.cosine(exact.policy_gradient(rule, prompt, k).mean, exact.true_policy_gradient(prompt))
        assert cosine == pytest.approx(1, abs=1e-13)
    graded = exact.cosine(exact.policy_gradient(rule, "graded", k).mean, exact.true_policy_gradient("graded"))
    assert 0.99 < graded < 1 - 1e-6


@pytest.mark.parametrize("rule", ["leave_one_out", "centered", "standardized", "ranked"])
def test_groups_of_two_in_a_loop(exact, rule):
    """Every pair of responses, one at a time."""
    theta = exact.parameters()
    log_chance = exact.log_probs(theta).sum(-1)
    of_response = [exact.gradient(value, theta) for value in log_chance]
    chance, score = log_chance.exp().tolist(), exact.PROMPTS["graded"]
    expected, squared = torch.zeros_like(exact.THETA), 0.0
    for i, j in product(range(9), repeat=2):
        pair = torch.tensor([score[i], score[j]], dtype=torch.float64)
        w = getattr(weights, rule)(pair, torch.zeros(2, dtype=torch.long)).tolist()
        found = (w[0] * of_response[i] + w[1] * of_response[j]) / 2
        expected += chance[i] * chance[j] * found
        squared += chance[i] * chance[j] * (found**2).sum().item()
    ours = exact.policy_gradient(rule, "graded", 2)
    torch.testing.assert_close(ours.mean, expected, rtol=1e-12, atol=1e-14)
    assert ours.noise == pytest.approx(math.sqrt(squared - (expected**2).sum().item()))


@pytest.mark.parametrize("prompt", ["hard", "even", "easy"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_binomial_scale_is_the_enumerated_one(exact, prompt, k):
    truth = exact.true_policy_gradient(prompt)
    score = torch.tensor(exact.PROMPTS[prompt], dtype=torch.float64)
    chance = (exact.log_probs(exact.THETA).sum(-1).exp() * score).sum().item()
    scale = exact.policy_gradient("standardized", prompt, k).mean.norm() / truth.norm()
    assert exact.scale_of_binary(chance, k) == pytest.approx(scale.item(), rel=1e-12)


def test_the_page_states_these_numbers(exact):
    page = (ROOT / "docs" / "concepts" / "estimators.md").read_text()
    for table in exact.tables():
        assert table in page
