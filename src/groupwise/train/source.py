"""What the loop asks of a source of groups."""

from typing import Any, Protocol

from groupwise.candidates import Group
from groupwise.models.trained import Reader


class Source(Protocol):
    """Gives the groups of a step, the same ones whenever it is asked for the same step.

    What a source draws at random is a function of its seed and the step, so a resumed run sees what an
    uninterrupted one would have seen.
    """

    def take(self, step: int, policy: Reader) -> list[Group]:
        """The scored groups of this step."""
        ...

    def measured(self) -> dict[str, float]:
        """What making the last step's groups took, as a run's metrics."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What must be saved to go on after a stop, beyond the step itself."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        ...
