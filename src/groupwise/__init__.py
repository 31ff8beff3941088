"""Groupwise trains language models from groups of candidate responses."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupwise.candidates import (
        Candidates,
        Completion,
        Group,
        Loss,
        Mean,
        Need,
        Objective,
        Totals,
        implied_weights,
    )

__version__ = "0.1.0"
__all__ = ["Candidates", "Completion", "Group", "Loss", "Mean", "Need", "Objective", "Totals", "implied_weights"]


def __getattr__(name: str) -> Any:
    """The public names, and torch with them, at their first use: what judges, serves or prints needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groupwise import candidates

    return getattr(candidates, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
