"""Run the programs of `attacks/` in one tier, look at the machine after each; prints a line of JSON for each.

    PYTHONPATH=src python tests/sandbox/run_attacks.py landlock [part of a name ...]

A program's head says what it is and what a sandbox may say of it:

    # mode: calls | stdio | tests     calls: add(a, b), asked for (1, 2) and (3, 4) unless `calls` says otherwise
    # expect: WORD ...                verdicts that are right; `pass` too is right only where it is listed
    # expect TIER: WORD ...           the same, in this tier only
    # passed: N                       so many cases must be right
    # limits: plain | spin | sleep | default   which limits it is to run into
    # gate: NAME, danger: NAME        programs with `danger` run only after all gates of that name have held
    # secret: yes                     one call more, add(5, 6), whose answer nobody can know
    # twice: yes                      run twice, must print the same
    # needs: numpy | x86_64           not run elsewhere
    # known: TIER WHY                 what it prints as ESCAPE is a known limit of this tier
    # calls, stdin, expected, stdout, source, entry: Python expressions

A printed line that starts with ESCAPE means that the forbidden act worked. In texts @SECRET@, @STAGE@ and others
stand for what `attack_host.py` prepared. Tests follow a line `# --- tests ---`.
"""

import importlib.util
import json
import os
import platform
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from attack_host import Host

from groupwise.sandbox import Sandbox, SandboxError, Verdict

PROGRAMS = Path(__file__).parent / "attacks"
TESTS = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(3, 4) == 7\n"
LIMITS: dict[str, dict[str, Any]] = {
    "plain": {"cpu_s": 5, "wall_s": 40},
    "spin": {"cpu_s": 0.1, "wall_s": 30},
    "sleep": {"cpu_s": 5, "wall_s": 0.5},
    "default": {"memory_mb": 1024, "wall_s": 40},
    "numpy": {"cpu_s": 5, "wall_s": 40, "packages": ("numpy",)},
}
_HEAD = re.compile(r"^# (mode|expect|expect \w+|passed|limits|gate|danger|secret|twice|needs|known|note|calls|stdin"
                   r"|expected|stdout|source|entry): (.*)$")  # fmt: skip


@dataclass
class Program:
    """One file of `attacks/`."""

    name: str
    head: dict[str, str]
    text: str
    tests: str

    def asked(self, key: str, default: Any) -> Any:
        """A head line that is an expression."""
        text = self.head.get(key)
        return default if text is None else eval(text, {"D": Decimal, "F": Fraction})

    def expected(self, tier: str) -> list[str]:
        """The verdicts that are right."""
        return self.head.get(f"expect {tier}", self.head["expect"]).split()


@dataclass
class Result:
    """What came of one program."""

    name: str
    verdict: str = ""
    passed: int = 0
    total: int = 0
    tier: str = ""
    integrity: str = ""
    message: str = ""
    stdout: str = ""
    wall_s: float = 0.0
    wrong: list[str] = field(default_factory=list)  # all that is not as it should be
    skipped: str = ""


def programs() -> list[Program]:
    """All of them, gates first and what is dangerous last."""
    found = []
    for path in sorted(PROGRAMS.rglob("*.py")):
        text, _, tests = path.read_text().partition("# --- tests ---\n")
        head = dict(match.groups() for line in text.splitlines() if (match := _HEAD.match(line)))
        found.append(Program(str(path.relative_to(PROGRAMS).with_suffix("")), head, text, tests))
    return sorted(found, key=lambda one: ("danger" in one.head, "gate" not in one.head))


class Runner:
    """One sandbox for each set of limits, all in the same tier."""

    def __init__(self, tier: str) -> None:
        self.tier = tier
        self.host = Host(f"{tier}-{os.getpid()}")
        self.names = self.host.names(tier)
        self.boxes: dict[str, Sandbox] = {}
        self.held: dict[str, bool] = {}

    def run(self, program: Program) -> Result:
        """Run one program and look at the machine."""
        result = Result(program.name)
        result.skipped = self._unfit(program)
        if result.skipped:
            return result
        box = self._box("numpy" if program.head.get("needs") == "numpy" else program.head.get("limits", "plain"))
        spent = time.process_time()
        verdict = self._judged(box, program)
        spent = time.process_time() - spent
        for name in ("verdict", "passed", "total", "tier", "integrity", "message", "wall_s"):
            setattr(result, name, getattr(verdict, name))
        result.stdout = verdict.stdout[-3000:]
        result.wrong = self._wrong(program, verdict)
        if spent > 3.0:  # a guard against parsers that can be kept busy
            result.wrong.append(f"the trainer spent {spent:.1f} s of CPU time on it")
        if program.head.get("twice") and self._judged(box, program).stdout != verdict.stdout:
            result.wrong.append("a second run printed something else")
        result.wrong += self.host.harm()
        result.wrong += self._later(box, tests=program.head.get("mode") == "tests")
        if result.wrong:
            self.host.remember()  # one program's harm is not told again of the next
        if "gate" in program.head:
            self.held[program.head["gate"]] = self.held.get(program.head["gate"], True) and not result.wrong
        return result

    def _unfit(self, program: Program) -> str:
        danger = program.head.get("danger")
        if danger and not self.held.get(danger, False):
            return f"not run: the limit on {danger} was not shown to hold"
        need = program.head.get("needs")
        if need == "x86_64" and platform.machine() != "x86_64":
            return "its numbers of system calls are x86-64's"
        if need == "numpy" and importlib.util.find_spec("numpy") is None:
            return f"{sys.executable} has no numpy"
        return ""

    def _box(self, limits: str) -> Sandbox:
        if limits not in self.boxes:
            settings = {"memory_mb": 160, "workers": 1, "retry_timeouts": False} | LIMITS[limits]
            self.boxes[limits] = Sandbox(tier=self.tier, **settings)
            self._later(self.boxes[limits])  # both kinds of workers are there before anything is counted
            self.host.remember()
        return self.boxes[limits]

    def _judged(self, box: Sandbox, program: Program) -> Verdict:
        text = program.asked("source", program.text)
        for mark, meaning in self.names.items():
            text = text.replace(mark, meaning)
        secret = "secret" in program.head
        mode = program.head.get("mode", "calls")
        if mode == "stdio":
            expected = program.asked("expected", "7\n").replace("@SECRET@", self.host.secret)
            return box.run_stdio(text, stdin=program.asked("stdin", "3 4\n"), expected=expected)
        if mode == "tests":
            tests = (program.tests or TESTS).replace("@SECRET@", self.host.secret)
            return box.run_tests(text, entry="add", tests=tests)
        calls = program.asked("calls", [([1, 2], 3), ([3, 4], 7)]) + [([5, 6], int(self.host.secret))] * secret
        return box.run_calls(
            text, entry=program.head.get("entry", "add"), inputs=[a for a, _ in calls], expected=[b for _, b in calls]
        )

    def _wrong(self, program: Program, verdict: Verdict) -> list[str]:
        wrong = []
        expected = program.expected(self.tier)
        if verdict.verdict not in expected:
            wrong.append(f"the verdict is {verdict.verdict!r} ({verdict.message[:200]}), not {' or '.join(expected)}")
        if (verdict.verdict == "pass") != (0 < verdict.passed == verdict.total):
            wrong.append(f"{verdict.verdict} with {verdict.passed} of {verdict.total}")
        if program.asked("passed", verdict.passed) != verdict.passed:
            wrong.append(f"{verdict.passed} of {verdict.total} were right, not {program.head['passed']}")
        if (verdict.tier, verdict.integrity) != (self.tier, "isolated"):
            wrong.append(f"{verdict.tier}, {verdict.integrity}")
        if program.asked("stdout", verdict.stdout) != verdict.stdout:
            wrong.append(f"printed {verdict.stdout[:200]!r}")
        if not program.head.get("known", "").startswith(self.tier):
            wrong += [line[:300] for line in verdict.stdout.splitlines() if line.startswith("ESCAPE")]
        if self.host.secret in verdict.stdout:
            wrong.append("the program printed the secret")
        return wrong

    def _later(self, box: Sandbox, *, tests: bool = True) -> list[str]:
        """A worker must be as good as new for the next program."""
        source = "def add(a, b):\n    return a + b\n"
        words = [box.run_calls(source, entry="add", inputs=[[1, 2]], expected=[3]).verdict]
        if tests:
            words.append(box.run_tests(source, entry="add", tests=TESTS).verdict)
        return [] if set(words) == {"pass"} else [f"an honest program later: {', '.join(words)}"]

    def close(self) -> list[str]:
        """End all; what is left."""
        for box in self.boxes.values():
            box.close()
        return self.host.leave()


def main() -> None:
    """Print the results, then one line for the end."""
    tier, *parts = sys.argv[1:]
    try:
        Sandbox(tier=tier, workers=1).close()
    except SandboxError as error:
        print(json.dumps(asdict(Result("no sandbox", skipped=str(error)))), flush=True)
        return
    runner = Runner(tier)
    try:
        for program in programs():
            if not parts or "gate" in program.head or any(part in program.name for part in parts):
                print(json.dumps(asdict(runner.run(program))), flush=True)
    finally:
        left = runner.close()
    print(json.dumps(asdict(Result("the end", verdict="pass", wrong=left))), flush=True)


if __name__ == "__main__":
    main()
