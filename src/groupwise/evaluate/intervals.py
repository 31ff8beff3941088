"""Confidence intervals of what an evaluation measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, cos, inf, isfinite, pi, sin, sqrt
from statistics import NormalDist, fmean, stdev

from groupwise.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion (1927): sound for small n and for none or all right.

        (p + z^2 / 2n  +-  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n),   p = successes / n

    For n independent tries: one sample a prompt. For several a prompt, `clustered_mean`.
    """
    if not (n >= 1 and 0 <= successes <= n):
        raise ConfigError(f"{successes} successes of {n} tries: needs 0 <= successes <= tries and 1 try at least")
    z = NormalDist().inv_cdf(0.5 + _checked(confidence) / 2)
    p = successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the ends the formula gives p itself, up to rounding.
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == n else middle + half
    return Interval(p, low, high)


def clustered_mean(scores: Sequence[Sequence[float]], *, confidence: float = 0.95) -> Interval:
    """Mean over prompts of the mean over a prompt's samples, with Student's t interval.

        m +- t(confidence, P - 1) std(m_1 .. m_P) / sqrt(P),   m_p = mean of prompt p's scores

    Prompts are the unit: samples of one prompt are alike, and more of them do not narrow what was learnt
    about other prompts. Prompts count the same however many samples they have. Equal means of all prompts
    give an interval of no width: for one 0/1 score a prompt use `wilson`.
    Raises ConfigError for under 2 prompts, a prompt without scores, or scores that are not finite.
    """
    for place, of_prompt in enumerate(scores):
        if not of_prompt:
            raise ConfigError(f"prompt {place} has no scores: leave it out, and report how many were left out")
        if not all(map(isfinite, of_prompt)):
            raise ConfigError(f"prompt {place} has a score that is not finite: {list(of_prompt)}")
    return _t_interval([fmean(of_prompt) for of_prompt in scores], confidence)


def proportion_difference(before: tuple[int, int], after: tuple[int, int], *, confidence: float = 0.95) -> Interval:
    """`after` minus `before`, each (successes, tries) on independent prompts; Newcombe's hybrid score interval (1998).

        d - sqrt((p2 - low2)^2 + (high1 - p1)^2)  ..  d + sqrt((high2 - p2)^2 + (p1 - low1)^2)

    with Wilson's low and high. Where both answered the same prompts, `paired_difference` is narrower.
    """
    first, second = (wilson(*counts, confidence=confidence) for counts in (before, after))
    value = second.value - first.value
    low = value - sqrt((second.value - second.low) ** 2 + (first.high - first.value) ** 2)
    high = value + sqrt((second.high - second.value) ** 2 + (first.value - first.low) ** 2)
    return Interval(value, low, high)


def paired_difference(before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean over prompts of `after` minus `before`, with Student's t interval of the differences.

    One score a prompt on each side, in the same order: means where a prompt has several samples.
    """
    if len(before) != len(after):
        raise ConfigError(
            f"{len(before)} prompts before, {len(after)} after: a paired difference needs the same prompts"
        )
    return _t_interval([b - a for a, b in zip(before, after, strict=True)], confidence)


def _t_interval(values: Sequence[float], confidence: float) -> Interval:
    n = len(values)
    if n < 2:
        raise ConfigError(f"an interval from {n} prompts: needs 2 at least, and tens to mean much")
    value = fmean(values)
    half = t_quantile(0.5 + _checked(confidence) / 2, n - 1) * stdev(values) / sqrt(n)
    return Interval(value, value - half, value + half)


def t_quantile(p: float, df: int) -> float:
    """The p-quantile of Student's t, for 0.5 <= p < 1 and whole degrees of freedom, to 12 digits.

    Above 10,000 degrees of freedom those of 10,000 are taken: 1e-4 relative too wide at most.
    """
    df = min(df, 10_000)
    low, high = 0.0, 1.0
    while _t_cdf(high, df) < p:
        low, high = high, 2 * high
        assert high < inf
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _t_cdf(middle, df) < p else (low, middle)
    return high


def _t_cdf(t: float, df: int) -> float:
    """Abramowitz and Stegun 26.7.3-4: finite sums of powers of cos(theta), theta = atan(t / sqrt(df))."""
    theta = atan(t / sqrt(df))
    squared = cos(theta) ** 2
    odd = df % 2
    term = cos(theta) if odd else 1.0
    total = 0.0
    for step in range(df // 2):
        total += term
        term *= squared * (2 * step + 2) / (2 * step + 3) if odd else squared * (2 * step + 1) / (2 * step + 2)
    inside = 2 / pi * (theta + sin(theta) * total) if odd else sin(theta) * total
    return 0.5 + inside / 2


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence = {confidence}, must be between 0 and 1; 0.95 is 95 %")
    return confidence
