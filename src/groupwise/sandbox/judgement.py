"""From what an execution left behind to a verdict: for calls with known answers, and for printed output."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groupwise.sandbox.child import values, wire
from groupwise.sandbox.child.runner import LOST_CODE, MEMORY_CODE
from groupwise.sandbox.execution import Execution, message, pump
from groupwise.sandbox.limits import Limits
from groupwise.sandbox.verdict import Case, Word
from groupwise.sandbox.zygote import Zygote

SEED = 20240  # of `random` in the program's process


class NotStarted(Exception):  # noqa: N818  # says what happened
    """The child's isolation failed; the program did not run."""


Like = Callable[[list[values.Token], list[values.Token]], bool]  # (answer, expected) -> whether they are the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one or several executions."""

    cases: tuple[Case, ...]
    passed: int
    total: int
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    stdout: str = ""
    stderr: str = ""

    @property
    def worst(self) -> Case:
        """The first case that is not right, else a right one."""
        return next((case for case in self.cases if case.verdict != "pass"), self.cases[0])


def new_execution(zygote: Zygote, limits: Limits, stdin: bytes = b"") -> Execution:
    """An execution with its first three descriptors: stdin, stdout, stderr."""
    one = Execution(
        zygote,
        cpu=limits.cpu_s,
        wall=limits.wall,
        stdout=int(limits.stdout_kb * 1024),
        result=int(limits.result_mb * (1 << 20)),
    )
    if stdin:
        one.pipe_in(stdin)
    else:
        one.hand_over(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    one.pipe_out(one.stdout)
    one.pipe_out(one.stderr)
    return one


def finish(one: Execution) -> None:
    """Start and see it through. Raises ZygoteGone, NotStarted."""
    try:
        one.start()
    except BaseException:
        one.close()
        raise
    pump([one])
    check_started(one)


def check_started(one: Execution) -> None:
    """Raise NotStarted if isolation failed."""
    if not one.started:
        raise NotStarted(one.trouble or "the child ended before it was isolated")


def ended(one: Execution) -> Case | None:
    """What the way it ended says by itself; None for an ordinary exit."""
    assert one.reply is not None
    why = one.reply["why"]
    if one.overflow == "answers":
        return Case(verdict="output_limit", message=f"answered more than {one.answers.most} bytes")
    if one.overflow:
        return Case(verdict="output_limit", message=f"wrote more than it may to {one.overflow}")
    if why == "cpu" or (why == "exit" and _killed_by(one, 9, 24) and one.reply["cpu"] >= one.cpu):
        return Case(verdict="timeout", message=f"more than {one.cpu:g} s of CPU time")
    if why == "wall":
        return Case(verdict="timeout", message=f"more than {one.wall:g} s by the clock")
    return None


def _killed_by(one: Execution, *signals: int) -> bool:
    return signal_of(one) in signals


def signal_of(one: Execution) -> int:
    """The signal that ended it, or 0."""
    assert one.reply is not None
    status = one.reply["status"]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def exit_of(one: Execution) -> int:
    """Its exit status, -1 if a signal ended it."""
    assert one.reply is not None
    status = one.reply["status"]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1


def usage(runs: Sequence[Execution]) -> dict[str, Any]:
    """Time and memory of these executions together."""
    replies = [one.reply for one in runs if one.reply is not None]
    return {
        "cpu_s": sum(reply["cpu"] for reply in replies),
        "wall_s": sum(reply["wall"] for reply in replies),
        "memory_mb": max((reply["rss"] / 1024 for reply in replies), default=0.0),
    }


def _outcome(cases: Sequence[Case], shown: Execution, runs: Sequence[Execution]) -> Outcome:
    passed = sum(case.verdict == "pass" for case in cases)
    return Outcome(
        cases=tuple(cases),
        passed=passed,
        total=len(cases),
        stdout=shown.printed,
        stderr=shown.complaints,
        **usage(runs),
    )


# --- calls ------------------------------------------------------------------------------------------------------


def arguments(one: Any) -> list[values.Token]:
    """A call's arguments as tokens: a sequence is positional, a mapping is by keyword."""
    by_name = isinstance(one, Mapping)
    return values.encode(((), dict(one)) if by_name else (tuple(one), {}), strict=True)


def calls(
    zygote: Zygote, limits: Limits, job: dict[str, Any], expected: Sequence[list[values.Token]], like: Like
) -> Outcome:
    """Run `job` and compare its answers. Raises ZygoteGone, NotStarted."""
    one = new_execution(zygote, limits)
    one.pipe_in(message(job))
    one.pipe_out(one.answers)
    finish(one)
    cases = _cases(one, expected, like)
    return _outcome(cases, one, [one])


def _cases(one: Execution, expected: Sequence[list[values.Token]], like: Like) -> list[Case]:
    over = ended(one)
    if over is not None and over.verdict == "output_limit":
        return [over] * len(expected)
    try:
        answers, load = _frames(one, len(expected))
    except (wire.Broken, values.Malformed) as error:
        return [Case(verdict="protocol_error", message=str(error)[:300])] * len(expected)
    missing = load or over or _left_early(one)
    cases = []
    for index, right in enumerate(expected):
        body = answers.get(index)
        cases.append(missing if body is None else _compared(body, right, like))
    return cases


def _frames(one: Execution, total: int) -> tuple[dict[int, bytes], Case | None]:
    """The first message of each index, unread; and what went wrong when the program was loaded."""
    answers: dict[int, bytes] = {}
    load = None
    for frame in wire.split(one.answers.data, total + 2):
        head = frame[:16].partition(b",")[0]
        if head == b"[-1" and not answers:
            load = load or trouble(values.loads(frame[: 1 << 16])[1:])
            continue
        index = int(head[1:]) if head[:1] == b"[" and head[1:].isdigit() else -1
        if not 0 <= index < total:
            raise wire.Broken(f"an answer to no question: {head[:16]!r}")
        answers.setdefault(index, frame)
    return answers, load


def _compared(frame: bytes, expected: list[values.Token], like: Like) -> Case:
    if len(frame) > 4096 + 40 * sum(len(token) + 8 if isinstance(token, str) else 24 for token in expected):
        return Case(verdict="fail", message="the answer is far longer than the expected one")
    try:
        _, status, *answer = values.loads(frame)
        if status != "ok":
            return trouble([status, *answer])
        if like(answer, expected):
            return Case(verdict="pass")
    except (values.Malformed, ValueError) as error:
        return Case(verdict="protocol_error", message=str(error)[:300])
    return Case(verdict="fail", message=f"answered {shown(answer)}, expected {shown(expected)}")


def trouble(tokens: Sequence[values.Token]) -> Case:
    """The case of a call that raised."""
    status = tokens[0] if tokens else None
    text = ": ".join(str(token)[:300] for token in tokens[1:3])
    if status == "memory":
        return Case(verdict="memory", message=text)
    if status == "large":
        return Case(verdict="output_limit", message=f"the answer is too large: {text}")
    if status == "error":
        return Case(verdict="error", message=text)
    return Case(verdict="protocol_error", message=f"status {str(status)[:40]!r}")


def _left_early(one: Execution) -> Case:
    number = signal_of(one)
    if number:
        return Case(verdict="crash", message=f"ended by signal {number}")
    if exit_of(one) == MEMORY_CODE:
        return Case(verdict="memory", message="MemoryError")
    if exit_of(one) == LOST_CODE:
        return Case(verdict="error", message="the program broke what it needs to answer")
    return Case(verdict="exited_early", message=f"ended with status {exit_of(one)} before all answers were given")


def shown(tokens: Sequence[values.Token]) -> str:
    """The first few tokens, readable."""
    text = " ".join(str(token)[:60] for token in tokens[:12])
    return (text[:200] + " ...") if len(tokens) > 12 or len(text) > 200 else text


# --- stdin and stdout -------------------------------------------------------------------------------------------


def stdio(zygote: Zygote, limits: Limits, source: str, stdins: Sequence[str], expected: Sequence[str]) -> Outcome:
    """One execution for each input. Raises ZygoteGone, NotStarted.

    After a timeout the rest is not run: a program that hangs costs its time limit once.
    """
    cases: list[Case] = []
    runs: list[Execution] = []
    for stdin, right in zip(stdins, expected, strict=True):
        if cases and cases[-1].verdict == "timeout":
            cases.append(Case(verdict="timeout", message="not run after a timeout"))
            continue
        one = new_execution(zygote, limits, stdin.encode(errors="surrogateescape"))
        one.pipe_in(message({"mode": "stdio", "seed": SEED, "source": source}))
        one.pipe_out(one.answers)
        finish(one)
        runs.append(one)
        cases.append(_printed(one, right))
    first = next((run for run, case in zip(runs, cases, strict=False) if case.verdict != "pass"), runs[0])
    return _outcome(cases, first, runs)


def _printed(one: Execution, expected: str) -> Case:
    stdout = one.printed
    case = ended(one)
    if case is None and signal_of(one):
        case = Case(verdict="crash", message=f"ended by signal {signal_of(one)}")
    if case is None and exit_of(one):
        word: Word = "memory" if exit_of(one) == MEMORY_CODE else "error"
        case = Case(verdict=word, message=f"exit status {exit_of(one)}: {one.complaints.strip()[-300:]}")
    if case is None and normal(stdout) != normal(expected):
        case = Case(verdict="fail", message=f"printed {stdout[:200]!r}, expected {expected[:200]!r}")
    return Case(verdict=case.verdict if case else "pass", message=case.message if case else "", stdout=stdout)


def normal(text: str) -> list[str]:
    """Lines without blanks at their ends, without empty lines at the end: nothing else is forgiven."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
