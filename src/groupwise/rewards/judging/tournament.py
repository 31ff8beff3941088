"""Candidates beside each other: who meets whom and what each earns, and the orders in which all are shown."""

import math
import random
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

Pair = tuple[int, int]


def pairs(against: str, count: int, *, seed: int) -> list[Pair]:
    """Who meets whom: all, the first and each other, or neighbours in a ring of the shuffled candidates."""
    if against == "first":
        return [(0, j) for j in range(1, count)]
    if against == "random" and count > 2:
        ring = random.Random(seed).sample(range(count), count)
        return list(zip(ring, [*ring[1:], ring[0]], strict=True))
    return list(combinations(range(count), 2))


def earned(games: Sequence[tuple[Pair, float | None]], count: int) -> list[float | None]:
    """Each candidate's mean over its games with a verdict, which say what share of the win went to the first."""
    won: list[list[float]] = [[] for _ in range(count)]
    for (i, j), win in games:
        if win is not None:
            won[i].append(win)
            won[j].append(1.0 - win)
    return [fmean(shares) if shares else None for shares in won]


def orders(count: int, wanted: int, *, seed: int) -> list[tuple[int, ...]]:
    """Distinct shuffled orders, as many as wanted or as there are; each second one is the reverse of that before."""
    rng, found = random.Random(seed), dict[tuple[int, ...], None]()
    while len(found) < min(wanted, math.factorial(count)):
        order = tuple(rng.sample(range(count), count))
        found.update(dict.fromkeys((order, order[::-1])))
    return list(found)[:wanted]
