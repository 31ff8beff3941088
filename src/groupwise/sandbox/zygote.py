"""A zygote seen from the trainer: started by exec, spoken to over a socket, restarted when it is gone."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START = Path(__file__).parent / "child" / "start.py"
READY_WITHIN = 60.0  # seconds that a start may take: packages are imported in it

_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # the same program prints the same twice
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "PATH": "/usr/bin:/bin",
    "OPENBLAS_NUM_THREADS": "1",  # a zygote has one thread: forking more is unsafe
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # each would reserve 64 MiB of address space: 15 threads were all there was room for
}
_KEPT = ("LD_LIBRARY_PATH", "PYTHONHOME")  # without which this Python might not start


class ZygoteGone(Exception):  # noqa: N818  # says what happened
    """The zygote ended while it held a job. The job can be run again on another one."""

    started = False  # whether the program was running


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What every zygote of a sandbox is told at its start."""

    tier: str
    paths: Mapping[str, Any]
    limits: Mapping[str, int]
    preload: tuple[str, ...]
    deny: tuple[str, ...] = ()


class StartFailed(Exception):  # noqa: N818  # says what happened
    """The start sequence was refused; `call` names where."""

    def __init__(self, call: str, message: str) -> None:
        super().__init__(message)
        self.call = call


class Zygote:
    """One zygote process. Not thread-safe: it belongs to the worker that holds it."""

    def __init__(self, setup: Setup, role: str) -> None:
        self.about: dict[str, Any] = {}
        self.jobs = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = ours
        python = [sys.executable, "-s", "-S", "-P", str(START), str(theirs.fileno())]
        try:
            self.process = subprocess.Popen(  # exec without a function of ours between: this process has threads
                python,
                env=_ENVIRONMENT | {name: os.environ[name] for name in _KEPT if name in os.environ},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        try:
            self._introduce(setup, role)
        except BaseException:
            self.close()
            raise

    def _introduce(self, setup: Setup, role: str) -> None:
        told = {
            "tier": setup.tier,
            "role": role,
            "owner": os.getpid(),
            "paths": dict(setup.paths),
            "limits": dict(setup.limits),
            "preload": list(setup.preload),
            "deny": list(setup.deny),
        }
        self.channel.settimeout(READY_WITHIN)
        try:
            self.channel.send(json.dumps(told).encode())
            answer = self.channel.recv(1 << 16)
        except TimeoutError:
            raise StartFailed("start", f"no answer within {READY_WITHIN:.0f} s") from None
        except OSError as error:
            raise StartFailed("start", f"ended at once ({error}): {self.last_words()}") from None
        if not answer:
            raise StartFailed("start", f"ended at once: {self.last_words()}")
        self.about = json.loads(answer)
        if "failed" in self.about:
            raise StartFailed(self.about["failed"], self.about["message"])
        self.channel.settimeout(None)
        self.channel.setblocking(False)

    def send(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Hand a job over. Raises ZygoteGone."""
        try:
            socket.send_fds(self.channel, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            raise ZygoteGone(str(error)) from None

    def cancel(self, job: int) -> None:
        """End a job now; its reply still comes."""
        try:
            self.channel.send(json.dumps({"cancel": job}).encode())
        except OSError:
            return  # gone: the next receive says so

    def receive(self) -> dict[str, Any] | None:
        """The reply, or None if there is none yet. Raises ZygoteGone."""
        try:
            data = self.channel.recv(1 << 16)
        except BlockingIOError:
            return None
        except OSError as error:
            raise ZygoteGone(str(error)) from None
        if not data:
            raise ZygoteGone("its socket was closed")
        reply: dict[str, Any] = json.loads(data)
        return reply

    def last_words(self) -> str:
        """What it wrote to stderr, if it has ended."""
        try:
            self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return ""
        assert self.process.stderr is not None
        os.set_blocking(self.process.stderr.fileno(), False)
        return (self.process.stderr.read() or b"").decode(errors="replace")[-2000:].strip()

    def close(self) -> None:
        """End it and all its children."""
        self.channel.close()
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
