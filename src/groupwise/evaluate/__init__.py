"""What a model is worth on prompts it has not seen, and how sure that is."""

from groupwise.evaluate.intervals import Interval, clustered_mean, paired_difference, proportion_difference, wilson
from groupwise.evaluate.pass_at_k import mean_pass_at_k, pass_at_k

__all__ = [
    "Interval",
    "clustered_mean",
    "mean_pass_at_k",
    "paired_difference",
    "pass_at_k",
    "proportion_difference",
    "wilson",
]
