"""Whether a program that reads standard input prints what it should."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groupwise.errors import RewardError
from groupwise.rewards.coding import Coding
from groupwise.rewards.program import program


@dataclass(frozen=True, kw_only=True)
class Stdio(Coding):
    """The share of the row's inputs for which the program in the text prints the right output: passed / total.

    The row holds `inputs` and `outputs`, a text each or lists of as many; or `input_output` with both. Each input is a
    run of its own in the sandbox. The whole output is compared, blanks at the ends of lines and empty lines at its end
    aside, and the program must end with status 0. The program is the last fenced block, else the text: see
    `groupwise.rewards.program`. None, not judged, only if the sandbox itself failed.

    Raises RewardError for a row without inputs and outputs; SandboxError where no sandbox of the tier can be had.
    """

    def __call__(self, row: Mapping[str, Any], text: str) -> float | None:
        """Score one completion."""
        inputs, outputs = _pairs(row)
        return self.worth(self.box().run_stdio(program(text), stdin=inputs, expected=outputs))

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """The solution that the row brings, which must score 1."""
        return str(row["solution"]) if row.get("solution") else None


def _pairs(row: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    found = row["input_output"] if isinstance(row.get("input_output"), Mapping) else row
    inputs, outputs = (
        [value] if isinstance(value, str) else value
        for value in (found.get("inputs", found.get("stdin")), found.get("outputs", found.get("expected")))
    )
    texts = all(isinstance(values, list) and all(isinstance(v, str) for v in values) for values in (inputs, outputs))
    if not texts or not inputs or len(inputs) != len(outputs):
        raise RewardError(
            f"found inputs = {inputs!r:.200} and outputs = {outputs!r:.200}: they must be texts, or lists of "
            "as many texts"
        )
    return inputs, outputs
