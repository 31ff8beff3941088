"""Responses to sums, right or with a slip: what methods that learn from given responses take from the task."""

import re
from collections.abc import Sequence
from random import Random
from typing import Literal

ERRORS = [error for error in range(-9, 10) if error]


def sum_responses(
    prompt: str, kind: Literal["demonstration", "pair"], *, worked: bool, random: Random
) -> dict[str, str]:
    """The columns `completion`, or `chosen` and `rejected`, of a sum: the rejected one has a slip in one column."""
    numbers = [int(found) for found in re.findall(r"\d+", prompt)]
    right = written_sum(numbers, worked=worked)
    if kind == "demonstration":
        return {"completion": right}
    slip = (random.randrange(len(str(max(numbers)))), random.choice(ERRORS))
    return {"chosen": right, "rejected": written_sum(numbers, worked=worked, slip=slip)}


def written_sum(numbers: Sequence[int], *, worked: bool, slip: tuple[int, int] | None = None) -> str:
    """58 and 67 as "125" or, worked, as "8+7=15,5+6+1=12:125": the digits from the right with their carries, the sum.

    `slip`, a column from the right and an error, miscounts that column; the carry and the sum follow from it. A column
    that comes to 0 is miscounted upward whatever the error.
    """
    steps: list[str] = []
    left, carry, found = list(numbers), 0, 0
    while any(left) or not steps:
        digits = [number % 10 for number in left]
        total = sum(digits) + carry
        if slip and slip[0] == len(steps):
            total += slip[1] if total + slip[1] >= 0 else -slip[1]
        steps.append("+".join(map(str, digits)) + (f"+{carry}" if carry else "") + f"={total}")
        found += total % 10 * 10 ** (len(steps) - 1)
        carry, left = total // 10, [number // 10 for number in left]
    found += carry * 10 ** len(steps)
    return f"{','.join(steps)}:{found}" if worked else str(found)
