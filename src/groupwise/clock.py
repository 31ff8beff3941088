"""Where a step's time goes: nested phases, each second counted for the innermost one.

    with phase("decode"):
        ...
        count(tokens)

The clock is this process's, and its main thread's: engine, models and loop need not hand it to each other.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

OTHER = "other"


@dataclass(slots=True)
class Spent:
    """Of the phases since the last look."""

    seconds: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    operations: dict[str, float] = field(
        default_factory=dict
    )  # floating-point ones that the phase could not do without

    def metrics(self) -> dict[str, float]:
        """As a run's measurements: `seconds/decode`, `tokens/decode`, `operations/decode`."""
        groups: dict[str, Mapping[str, float]] = {
            "seconds": self.seconds,
            "tokens": self.tokens,
            "operations": self.operations,
        }
        return {f"{group}/{phase}": float(v) for group, of in groups.items() for phase, v in of.items()}


class _Clock:
    def __init__(self) -> None:
        self.spent, self.phases, self.since = Spent(), [OTHER], time.perf_counter()

    def switch(self) -> None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch does not type it
            torch.cuda.synchronize()  # else a phase would pay for what an earlier one began
        now, phase = time.perf_counter(), self.phases[-1]
        self.spent.seconds[phase] = self.spent.seconds.get(phase, 0.0) + now - self.since
        self.since = now


_CLOCK = _Clock()


@contextmanager
def phase(name: str) -> Iterator[None]:
    """What is done inside is this phase, less the phases inside it."""
    _CLOCK.switch()
    _CLOCK.phases.append(name)
    try:
        yield
    finally:
        _CLOCK.switch()
        _CLOCK.phases.pop()


def count(tokens: int, operations: float = 0.0) -> None:
    """The phase that runs has computed so many tokens, with so many operations."""
    name, spent = _CLOCK.phases[-1], _CLOCK.spent
    spent.tokens[name] = spent.tokens.get(name, 0) + tokens
    spent.operations[name] = spent.operations.get(name, 0.0) + operations


def take() -> Spent:
    """What was spent since the last call; what is outside of all phases is `other`."""
    _CLOCK.switch()
    found, _CLOCK.spent = _CLOCK.spent, Spent()
    return found
