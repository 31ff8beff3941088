"""A fixed set of groups: demonstrations, pairs, ranked or scored candidates."""

from collections.abc import Sequence
from typing import Any

from groupwise.candidates import Group
from groupwise.errors import DataError
from groupwise.models.trained import Reader
from groupwise.sources.order import rows_of_step


class OfflineSource:
    """`groups_per_step` groups a step, epoch after epoch, each epoch in an order of its own."""

    def __init__(self, groups: Sequence[Group], *, groups_per_step: int, seed: int = 0) -> None:
        if not groups:
            raise DataError("the data set holds no groups: nothing to train on")
        self.groups, self.groups_per_step, self.seed = groups, groups_per_step, seed

    def take(self, step: int, policy: Reader) -> list[Group]:
        """The groups of this step."""
        rows = rows_of_step(step, size=len(self.groups), count=self.groups_per_step, seed=self.seed)
        return [self.groups[i] for i in rows]

    def measured(self) -> dict[str, float]:
        """Nothing: given groups are there."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Nothing: the step says it all."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""
