"""What a judgement says."""

from dataclasses import dataclass, field
from typing import Literal, get_args

Word = Literal[
    "pass",  # every answer, output or assertion is right
    "fail",  # at least one is wrong
    "error",  # the program raised, or ended with an exit status that is not 0
    "timeout",  # CPU time or the clock ran out, alone on the machine too
    "memory",  # MemoryError
    "output_limit",  # printed or answered more than it may
    "crash",  # ended by a signal
    "exited_early",  # ended before it had answered
    "protocol_error",  # wrote something else where answers are read
    "unsupported_value",  # a test needs a value that cannot be sent as plain data
    "sandbox_error",  # the sandbox itself failed: nothing is known about the program, never score it
]
WORDS: tuple[str, ...] = get_args(Word)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One test case's outcome."""

    verdict: Word
    message: str = ""
    stdout: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One judgement. A program is right if `verdict == "pass"`; `passed / total` is its share of test cases."""

    verdict: Word  # the first thing that went wrong, or "pass"
    passed: int  # test cases that are right
    total: int  # test cases there are
    tier: str  # "namespaces", "landlock" or "rlimits"
    integrity: str  # "isolated", or "unprotected": the program could have read the answers
    cpu_s: float = 0.0  # seconds of CPU time that the program used
    wall_s: float = 0.0  # seconds by the clock
    memory_mb: float = 0.0  # largest resident memory, MiB (includes Python's own)
    stdout: str = ""  # what the program printed
    stderr: str = ""  # its last words there
    message: str = ""  # what went wrong, in words
    limits: tuple[str, ...] = ()  # the limits that were really active
    cases: tuple[Case, ...] = field(default=(), repr=False)

    @property
    def scored(self) -> bool:
        """Whether this says something about the program."""
        return self.verdict != "sandbox_error"

    @property
    def rate(self) -> float:
        """passed / total."""
        return self.passed / self.total if self.total else 0.0
