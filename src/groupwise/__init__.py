"""Groupwise trains language models from groups of candidate responses."""

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
