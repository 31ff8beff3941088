"""`groupwise get-data NAME DIR`."""

from groupwise.cli.getting import Getting
from groupwise.fetch import DATASETS, get_data

verb = Getting(DATASETS, get_data)
arguments, run = verb.arguments, verb.run
