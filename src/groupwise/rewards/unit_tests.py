"""Whether a program passes its tests."""

import builtins
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groupwise.errors import RewardError
from groupwise.rewards.coding import Coding
from groupwise.rewards.program import program


@dataclass(frozen=True, kw_only=True)
class UnitTests(Coding):
    """The share of its tests that the function in the text passes, in the sandbox: passed / total.

    The row says how it is tested, in one of these forms:
    calls      `entry`, `inputs` (a list of lists of arguments), `expected`; what a call returns is compared outside,
               as JSON would keep it: a tuple is as good as a list;
    HumanEval  `entry_point`, `test` with check(candidate), `prompt`, which the text may continue;
    MBPP       `test_list` with asserts (and `test_setup_code`); the function is the one that the first assert calls,
               unless `entry` names it;
    pytest     `tests` with functions test_..., and `entry`: the name that the tests call.

    The program is the last fenced block that defines the function, else the last block, else the text: see
    `groupwise.rewards.program`. A program that fails, runs too long or asks too much memory scores what passed before,
    mostly 0: the label of its failure can be chosen by the program, so that all are worth the same. None, not judged:
    only if the sandbox itself failed. A text without the function scores 0.

    Raises RewardError for a row without tests; SandboxError where no sandbox of the tier can be had.
    """

    def __call__(self, row: Mapping[str, Any], text: str) -> float | None:
        """Score one completion."""
        box = self.box()
        if "inputs" in row and "expected" in row:
            entry = _entry(row)
            inputs, expected = _calls(row)
            source = program(text, entry=entry)
            return self.worth(
                box.run_calls(source, entry=entry, inputs=inputs, expected=expected, as_json=True)  # as rows are kept
            )
        entry, tests, prompt = _tests(row)
        source = program(text, entry=entry, prompt=prompt)
        return self.worth(box.run_tests(source, entry=entry, tests=tests, prelude=prompt))

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """The solution that the row brings, which must score 1."""
        return next((str(row[name]) for name in ("solution", "canonical_solution", "code") if row.get(name)), None)


def _calls(row: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    inputs, expected = row["inputs"], row["expected"]
    if not isinstance(inputs, list) or not all(isinstance(arguments, list) for arguments in inputs):
        raise RewardError(f"found inputs = {inputs!r:.200}: a list with a list of arguments for each call is needed")
    if not isinstance(expected, list) or len(expected) != len(inputs) or not inputs:
        raise RewardError(
            f"found {len(inputs)} inputs and expected = {expected!r:.200}: there must be one for each, and at least one"
        )
    return inputs, expected


def _tests(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """The function's name, the tests, and the code that stands before both."""
    if row.get("test") and row.get("entry_point"):
        return str(row["entry_point"]), str(row["test"]), str(row.get("prompt") or "")
    if isinstance(row.get("test_list"), list) and row["test_list"]:
        asserts = [str(line) for line in row["test_list"]]
        entry = str(row.get("entry") or "") or _asserted(asserts[0])
        return entry, "\n".join([str(row.get("test_setup_code") or ""), *asserts]), ""
    if row.get("tests"):
        return _entry(row), str(row["tests"]), ""
    raise RewardError(
        f"found no tests; the row has: {', '.join(row)}. It needs `entry`, `inputs` and `expected`; or "
        "`entry_point` and `test`; or `test_list`; or `entry` and `tests`"
    )


def _entry(row: Mapping[str, Any]) -> str:
    entry = row.get("entry") or row.get("entry_point")
    if not isinstance(entry, str) or not entry.isidentifier():
        raise RewardError(f"found entry = {entry!r}: it must name the function that is tested")
    return entry


def _asserted(line: str) -> str:
    """The function that an assert calls: the first name before a bracket that is not Python's own or a module's."""
    own = {*dir(builtins), *keyword.kwlist}
    called: list[str] = [name for name in re.findall(r"(?<![\w.])([A-Za-z_]\w*)\s*\(", line) if name not in own]
    if not called:
        raise RewardError(f"found no call in {line!r:.200}: name the function in the column `entry`")
    return called[0]
