"""Pure functions on tensors: the mathematics, with no types of ours, no model, no I/O, no config."""

from groupwise.functional import divergences, groups, logprobs, returns, surrogates, weights

__all__ = ["divergences", "groups", "logprobs", "returns", "surrogates", "weights"]
