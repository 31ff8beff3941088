"""`groupwise get-model NAME DIR`."""

from groupwise.cli.getting import Getting
from groupwise.fetch import MODELS, get_model

verb = Getting(MODELS, get_model)
arguments, run = verb.arguments, verb.run
