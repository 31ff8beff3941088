import math
from decimal import Decimal, localcontext

import pytest
import torch

from groupwise.functional.logprobs import length_normalized, log1mexp, sequence_mean, sequence_sum

LOGP = torch.tensor(
    [[-1.0, -2.0, torch.nan], [-4.0, torch.inf, -6.0], [torch.nan, torch.nan, torch.nan]], dtype=torch.float64
)
MASK = torch.tensor([[True, True, False], [True, False, True], [False, False, False]])


def test_sums_and_means_by_hand():
    assert sequence_sum(LOGP, MASK).tolist() == [-3, -10, 0]
    assert sequence_mean(LOGP, MASK).tolist() == [-1.5, -5, 0]


@pytest.mark.parametrize(
    ("length", "alpha", "expected"),
    [
        ("sum", 1.0, [-3, -10, 0]),
        ("mean", 1.0, [-1.5, -5, 0]),
        ("power", 0.5, [-3 / math.sqrt(2), -10 / math.sqrt(2), 0]),
        ("linear", 0.25, [-3.5, -10.5, 0]),
    ],
)
def test_length_normalisation_by_hand(length, alpha, expected):
    assert length_normalized(LOGP, MASK, length, alpha).tolist() == pytest.approx(expected)


def test_power_of_one_is_the_mean_and_of_zero_the_sum():
    assert torch.equal(length_normalized(LOGP, MASK, "power", 1.0), length_normalized(LOGP, MASK, "mean"))
    assert torch.equal(length_normalized(LOGP, MASK, "power", 0.0), length_normalized(LOGP, MASK, "sum"))


def exact_log1mexp(x: float) -> float:
    with localcontext() as context:
        context.prec = 60
        return float((1 - Decimal(x).exp()).ln())


@pytest.mark.parametrize("x", [-1e-15, -1e-8, -1e-3, -0.5, -0.6931, -0.6932, -1.0, -5.0, -40.0, -100.0])
def test_log1mexp_against_60_digits(x):
    assert log1mexp(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(exact_log1mexp(x), rel=1e-14)
    single = torch.tensor(x, dtype=torch.float32)
    assert log1mexp(single).item() == pytest.approx(exact_log1mexp(single.item()), rel=1e-6)


def test_log1mexp_has_a_finite_derivative_at_both_ends():
    x = torch.tensor([-1e-17, -1e-6, -0.5, -1.0, -1e4], dtype=torch.float64, requires_grad=True)
    log1mexp(x).sum().backward()
    expected = [-math.exp(v) / -math.expm1(v) for v in x.tolist()]
    assert x.grad.tolist() == pytest.approx(expected, rel=1e-12)
