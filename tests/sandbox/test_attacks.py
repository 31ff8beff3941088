"""The programs of `attacks/`, in both tiers, as root and as an ordinary user: none does what it is after.

What each is after, and which verdicts are right, stands at the head of its file; `run_attacks.py` runs them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest

from sandbox.run_attacks import LIMITS, programs

RUNNER = Path(__file__).with_name("run_attacks.py")
SOURCES = Path(__file__).parents[2] / "src"
COMBINATIONS = [(tier, user) for tier in ("namespaces", "landlock") for user in ("root", "ordinary")]
PROGRAMS = programs()
PATIENCE = 300  # seconds for all programs of one combination: a guard against hanging


def _command(user: str) -> list[str]:
    """How Python is started as this user; skips where it cannot be."""
    if user == "root":
        if os.geteuid() != 0:
            pytest.skip("these tests are not run by root")
        return [sys.executable]
    if os.geteuid() != 0:
        return [sys.executable]
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv (util-linux) is missing: root cannot become an ordinary user")
    as_nobody = [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    probe = (  # that it can be started from within counts: setpriv itself still may do what root may
        "import subprocess, sys, groupwise.sandbox; assert sys.version_info >= (3, 11); "
        "subprocess.run([sys.executable, '-c', 'import os'], check=True)"
    )
    tried = (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
    for python in tried:
        test = [*as_nobody, python, "-c", probe]
        if subprocess.run(test, env=_environment(), capture_output=True, check=False).returncode == 0:
            return [*as_nobody, python]
    pytest.skip(f"none of {', '.join(tried)} is a Python from 3.11 on that an ordinary user may run with this library")


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}


class Run:
    """All programs in one tier as one user, in a process of their own."""

    def __init__(self, tier: str, user: str, names: list[str]) -> None:
        command = [*_command(user), str(RUNNER), tier, *names]
        self.out = tempfile.TemporaryFile("w+")  # noqa: SIM115  # read once the process has ended
        self.err = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            command,
            env=_environment(),
            cwd=SOURCES.parent,
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.err,
        )
        self._results: dict[str, dict] | None = None

    def results(self) -> dict[str, dict]:
        """By name, once all have run."""
        if self._results is None:
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.end()
            self._results = {one["name"]: one for one in map(json.loads, self._read(self.out).splitlines())}
            self.errors = self._read(self.err)
        return self._results

    @staticmethod
    def _read(file: IO[str]) -> str:
        file.seek(0)
        return file.read()

    def end(self) -> None:
        """Stop it, if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@pytest.fixture(scope="module")
def runs(request):
    """All combinations that are asked for, started together: most programs wait for a limit, not for the processor."""
    asked = [item.callspec.params for item in request.session.items if _asks(item)]
    wanted = {params["combination"] for params in asked}
    names = sorted({params["name"] for params in asked if "name" in params})
    started: dict[tuple[str, str], Run | str] = {}
    for combination in sorted(wanted):
        try:
            started[combination] = Run(*combination, names if len(names) < len(PROGRAMS) else [])
        except pytest.skip.Exception as reason:
            started[combination] = str(reason)
    yield started
    for run in started.values():
        if isinstance(run, Run):
            run.end()
            run.out.close()
            run.err.close()


def _asks(item) -> bool:
    return item.path == Path(__file__) and hasattr(item, "callspec") and "combination" in item.callspec.params


@pytest.fixture
def results(runs, combination):
    run = runs[combination]
    if isinstance(run, str):
        pytest.skip(run)
    results = run.results()
    if "no sandbox" in results:
        pytest.skip(results["no sandbox"]["skipped"])
    assert "the end" in results, f"the runner itself did not live to the end: {run.errors[-2000:]}"
    return results


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
@pytest.mark.parametrize("name", [one.name for one in PROGRAMS])
def test_a_program_does_not_get_what_it_is_after(results, name):
    result = results[name]
    if result["skipped"] and not result["skipped"].startswith("not run"):
        pytest.skip(result["skipped"])
    assert not result["skipped"]
    assert result["wrong"] == [], f"{result['verdict']}: {result['message']}\n{result['stdout']}"


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
def test_nothing_is_left_of_them(results):
    assert results["the end"]["wrong"] == []


def test_heads_are_well_formed():
    words = {"pass", "fail", "error", "timeout", "memory", "output_limit", "crash", "exited_early", "protocol_error"}
    words |= {"unsupported_value"}  # never `sandbox_error`: no program may cause that
    for one in PROGRAMS:
        for tier in ("namespaces", "landlock"):
            assert set(one.expected(tier)) <= words, one.name
        assert one.head.get("limits", "plain") in LIMITS, one.name
        assert one.head.get("mode", "calls") in ("calls", "stdio", "tests"), one.name
    assert len(PROGRAMS) == len({one.name for one in PROGRAMS}) > 250
