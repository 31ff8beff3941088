"""Which rows of a fixed set a step takes: shuffled epochs, as a pure function of seed and step."""

import random


def rows_of_step(step: int, *, size: int, count: int, seed: int) -> list[int]:
    """`count` row numbers out of `size`, from epochs each in an order of its own; no row is left out.

    The rows of a step may cross from one epoch into the next.
    """
    first = step * count
    return [_epoch(i // size, size, seed)[i % size] for i in range(first, first + count)]


_cache: dict[tuple[int, int, int], list[int]] = {}


def _epoch(epoch: int, size: int, seed: int) -> list[int]:
    key = (epoch, size, seed)
    if key not in _cache:
        if len(_cache) > 8:
            _cache.clear()
        order = list(range(size))
        random.Random(f"{seed}/{epoch}").shuffle(order)
        _cache[key] = order
    return _cache[key]
