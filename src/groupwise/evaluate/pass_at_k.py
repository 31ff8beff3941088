"""pass@k: the chance that at least one of k samples is right."""

from collections.abc import Sequence
from math import comb

from groupwise.errors import ConfigError


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Unbiased estimate from n samples of one prompt (Chen et al., 2021, arXiv:2107.03374).

        pass@k = 1 - C(n - correct, k) / C(n, k)

    Computed in whole numbers and rounded once. Raises ConfigError unless 1 <= k <= n and 0 <= correct <= n.
    """
    if not 1 <= k <= n:
        raise ConfigError(f"pass@{k} needs k from 1 to the number of samples, {n}: draw at least k samples a prompt")
    if not 0 <= correct <= n:
        raise ConfigError(f"{correct} of {n} samples are right: must be from 0 to {n}")
    subsets = comb(n, k)
    return (subsets - comb(n - correct, k)) / subsets


def mean_pass_at_k(results: Sequence[Sequence[bool]], k: int) -> float:
    """Mean of `pass_at_k` over prompts; `results` holds, for each prompt, which of its samples are right."""
    if not results:
        raise ConfigError(f"pass@{k} of no prompts: there is nothing to average")
    return sum(pass_at_k(len(right), sum(map(bool, right)), k) for right in results) / len(results)
