"""One draw: which tokens can come, how often, and with what log-probability."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.engines.sampling import Sampling, draw, stable_seed, uniform
from groupwise.errors import ConfigError

MASK = (1 << 64) - 1


def splitmix64(state):
    """As published (Steele, Lea and Flood 2014)."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_uniform_is_splitmix64():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]  # seed 1234567
    seed = torch.tensor([1234567])
    assert [uniform(seed, t).item() for t in range(4)] == [(z >> 11) / 2**53 for z in published]


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**7))
def test_uniform_for_any_seed_and_counter(seed, counter):
    want = (splitmix64((seed + counter * 0x9E3779B97F4A7C15) & MASK) >> 11) / 2**53
    got = uniform(torch.tensor([3, seed]), counter)[1].item()
    assert got == want
    assert 0 <= got < 1


def test_stable_seed():
    assert stable_seed(1, "a", 2) == 7966048045017696035  # another value would change every run ever made
    assert len({stable_seed(i, j) for i in range(50) for j in range(50)}) == 2500
    assert all(0 <= stable_seed(i) < 2**63 for i in range(100))


LOGITS = torch.tensor([[2.0, 0.5, 1.0, -1.0, 0.0, 1.5, -torch.inf, 0.7]], dtype=torch.float64)


def many(sampling, logits=LOGITS, rows=20_000, counter=3):
    seed = torch.tensor([stable_seed(i) for i in range(rows)])
    return draw(logits.expand(rows, -1), seed, counter, sampling)


def exact(logits, *, temperature=1.0, keep=None):
    """Probabilities by the definition, in plain Python."""
    weights = [torch.exp(z / temperature).item() for z in logits[0]]
    kept = [w if keep is None or i in keep else 0.0 for i, w in enumerate(weights)]
    return [w / sum(kept) for w in kept]


@pytest.mark.parametrize(
    ("sampling", "probabilities"),
    [
        (Sampling(), exact(LOGITS)),
        (Sampling(temperature=0.5), exact(LOGITS, temperature=0.5)),
        (Sampling(temperature=2.0), exact(LOGITS, temperature=2.0)),
        (Sampling(top_k=3), exact(LOGITS, keep={0, 2, 5})),
        (Sampling(top_k=1), exact(LOGITS, keep={0})),
        (Sampling(top_k=100), exact(LOGITS)),
        (Sampling(top_p=0.7), exact(LOGITS, keep={0, 5, 2})),  # 0.39 + 0.24 < 0.7 <= 0.39 + 0.24 + 0.14
        (Sampling(top_p=0.01), exact(LOGITS, keep={0})),
        (Sampling(top_k=4, top_p=0.5), exact(LOGITS, keep={0, 5})),
        (Sampling(top_p=0.7, temperature=0.5), exact(LOGITS, temperature=0.5, keep={0, 5})),
    ],
)
def test_the_distribution_is_the_exact_one(sampling, probabilities):
    """Chi-square at one in a thousand, and the log-probabilities are of the renormalised distribution."""
    token, logprob = many(sampling)
    count = torch.bincount(token, minlength=8)
    expected = torch.tensor(probabilities) * len(token)
    possible = expected > 0
    assert count[~possible].sum() == 0
    statistic = ((count - expected)[possible] ** 2 / expected[possible]).sum().item()
    degrees = int(possible.sum()) - 1
    assert statistic <= {0: 0, 1: 10.8, 2: 13.8, 6: 22.5}[degrees]
    want = torch.tensor(probabilities, dtype=torch.float64).log()[token]
    torch.testing.assert_close(logprob, want, rtol=1e-6, atol=1e-6)


def test_draws_of_different_steps_are_independent():
    first, second = many(Sampling(), counter=0)[0], many(Sampling(), counter=1)[0]
    joint = torch.bincount(first * 8 + second, minlength=64).view(8, 8).double()
    marginals = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True) / len(first)
    large = marginals > 5
    assert ((joint - marginals)[large] ** 2 / marginals[large]).sum() < 85  # 49 degrees at most: one in a thousand


def test_temperature_zero_takes_the_likeliest():
    token, logprob = draw(LOGITS, torch.tensor([7]), 0, Sampling(temperature=0))
    assert token.tolist() == [0]
    torch.testing.assert_close(logprob, LOGITS.log_softmax(-1)[:, 0])


def test_ties_at_the_border_of_top_k_are_kept():
    token, _ = many(Sampling(top_k=2), torch.tensor([[1.0, 3.0, 1.0, 0.0]]), rows=500)
    assert set(token.tolist()) == {0, 1, 2}


def test_a_row_draws_the_same_alone_and_in_a_crowd():
    torch.manual_seed(0)
    logits, seed = torch.randn(40, 30), torch.arange(40) * 977
    for sampling in (Sampling(), Sampling(top_k=5), Sampling(top_p=0.8), Sampling(temperature=0.3)):
        together, _ = draw(logits, seed, 5, sampling)
        alone = [draw(logits[i : i + 1], seed[i : i + 1], 5, sampling)[0].item() for i in range(40)]
        assert together.tolist() == alone


def seed_of_the_largest_uniform():
    """The seed whose first uniform number is 1 - 2^-53: SplitMix64 run backwards from all ones."""

    def unmix(z, shift):
        x = z
        for _ in range(3):
            x = z ^ (x >> shift)
        return x

    state = unmix(MASK, 31) * pow(0x94D049BB133111EB, -1, 1 << 64) & MASK
    state = unmix(state, 27) * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & MASK
    seed = (unmix(state, 30) - 0x9E3779B97F4A7C15) & MASK
    return seed - (1 << 64) if seed >> 63 else seed


def test_impossible_tokens_never_come_even_at_the_very_end():
    """The last tokens have no probability; a point that rounds up to the total must not land behind them."""
    seed = torch.tensor([seed_of_the_largest_uniform()])
    assert uniform(seed, 0).item() == 1 - 2**-53
    torch.manual_seed(0)
    for _ in range(100):
        logits = torch.full((1, 50), -torch.inf)
        logits[0, :30] = torch.randn(30)
        token, logprob = draw(logits, seed, 0, Sampling())
        assert token.item() < 30
        assert torch.isfinite(logprob).all()


def test_random_filters_against_plain_python():
    rng = random.Random(0)
    for _ in range(200):
        logits = torch.tensor([[rng.gauss(0, 2) for _ in range(12)]], dtype=torch.float64)
        sampling = Sampling(top_k=rng.randint(0, 12), top_p=rng.choice([1.0, rng.uniform(0.05, 1)]))
        order = sorted(range(12), key=lambda i: -logits[0, i].item())
        kept = order[: sampling.top_k or 12]
        total = sum(exact(logits, keep=set(kept))[i] for i in kept)
        nucleus, mass = [], 0.0
        for i in kept:
            if mass >= sampling.top_p * total and nucleus:
                break
            nucleus.append(i)
            mass += exact(logits, keep=set(kept))[i]
        token, logprob = many(sampling, logits, rows=20, counter=rng.randrange(100))
        want = exact(logits, keep=set(nucleus))
        assert set(token.tolist()) <= set(nucleus)
        torch.testing.assert_close(logprob.exp(), torch.tensor(want, dtype=torch.float64)[token], rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("k", 0, "must be 1 or more"),
        ("max_new_tokens", 0, "must be 1 or more"),
        ("temperature", -0.1, "must be from 1e-6 to 1e6, or 0"),
        ("temperature", float("nan"), "must be from 1e-6 to 1e6, or 0"),
        ("temperature", 1e-300, "must be from 1e-6 to 1e6, or 0"),  # logits over it are infinite
        ("temperature", 1e30, "must be from 1e-6 to 1e6, or 0"),
        ("top_k", -1, "must be 0 or more"),
        ("top_p", 0.0, r"must be in \(0, 1\]"),
        ("top_p", 1.1, r"must be in \(0, 1\]"),
        ("stop", ("a", ""), "end every candidate at once"),
    ],
)
def test_settings_out_of_range_are_named(field, value, rule):
    with pytest.raises(ConfigError, match=rf"sampling.{field}.*{rule}"):
        Sampling(**{field: value})
