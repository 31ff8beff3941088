"""The process that forks one child per job. It never reads a job: that goes through pipes, to the child only."""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from . import isolate
from .syscalls import CallFailed, call, refuse

STARTED, NOT_STARTED = b"\x06", b"\x15"  # a child's first byte on stdout
STANDARD = (
    *("abc", "array", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal"),
    *("enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools", "json", "math", "operator", "queue"),
    *("random", "re", "statistics", "string", "struct", "textwrap", "threading", "time", "traceback", "typing"),
)
_SLICE = 0.25  # seconds between two looks at a child's clock, at most


def main(control: int) -> None:
    """Isolate, say so, then serve jobs until the control socket is closed."""
    channel = socket.socket(fileno=isolate.above(control))
    for _ in range(8):
        os.open(os.devnull, os.O_RDONLY)  # jobs' descriptors arrive above a child's own
    sys.setswitchinterval(0.005)
    setup = json.loads(channel.recv(1 << 18))
    refuse(setup["deny"])
    try:
        owner = _owner(setup["owner"])
        role = _preload(setup)
        gc.collect()
        gc.freeze()  # a collection would touch, and so copy, every object
        box = isolate.start(setup["tier"], setup["paths"], setup["limits"])
    except Exception as error:  # told to the trainer, who raises
        called = error.call if isinstance(error, CallFailed) else type(error).__name__
        channel.send(json.dumps({"failed": called, "message": str(error)[:1000]}).encode())
        os._exit(1)
    about = {"ready": True, "landlock": box.landlock, "seccomp": box.filtered, "notes": box.notes}
    channel.send(json.dumps(about).encode())
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    poller.register(owner, select.POLLIN)
    while True:
        if owner in {number for number, _ in poller.poll()}:
            os._exit(0)
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 8)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if "cancel" not in request:  # one that came too late: its job is over
            channel.send(json.dumps(_run(box, role, (channel, owner), request, descriptors)).encode())


def _owner(trainer: int) -> int:
    """A descriptor that becomes readable when the trainer ends, even if a fork of it still holds our socket."""
    handle = isolate.above(call("pidfd_open", trainer, 0))
    if os.getppid() != trainer:
        os._exit(0)
    return handle


def import_standard() -> None:
    """Import what programs import most, once for all children."""
    for name in STANDARD:
        importlib.import_module(name)


def _preload(setup: dict[str, Any]) -> Any:
    role = importlib.import_module(f"{__package__}.{setup['role']}")
    role.warm_up()
    for path in setup["paths"]["import"]:
        sys.path.append(path)
    for name in setup["preload"]:
        importlib.import_module(name)
    return role


def _run(
    box: isolate.Box, role: Any, ends: tuple[socket.socket, int], request: dict[str, Any], descriptors: list[int]
) -> dict[str, Any]:
    began = time.monotonic()
    try:
        child = isolate.fork(box)
    except OSError as error:
        for number in descriptors:
            os.close(number)
        return {"id": request["id"], "why": "setup", "message": str(error)}
    if child == 0:
        _child(box, role, request, descriptors)
    for number in descriptors:
        os.close(number)
    try:
        why = _watch(child, ends, request, began)
        if why != "exit":
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
    except CallFailed as error:
        os.kill(child, signal.SIGKILL)
        os.wait4(child, 0)
        return {"id": request["id"], "why": "setup", "message": str(error)}
    return {
        "id": request["id"],
        "why": why,
        "status": status,
        "cpu": usage.ru_utime + usage.ru_stime,
        "rss": usage.ru_maxrss,
        "wall": time.monotonic() - began,
    }


def _watch(child: int, ends: tuple[socket.socket, int], request: dict[str, Any], began: float) -> str:
    """Wait for the child's end, its limits or a word from the trainer."""
    channel, owner = ends
    handle = call("pidfd_open", child, 0)
    clock = ((~child) << 3) | 2  # the process's own CPU clock, all its threads
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    poller.register(owner, select.POLLIN)
    poller.register(channel, select.POLLIN)
    try:
        while True:
            wall_left = request["wall"] - (time.monotonic() - began)
            cpu_left = request["cpu"] - _seconds(clock)
            if cpu_left <= 0:
                return "cpu"
            if wall_left <= 0:
                return "wall"
            ready = poller.poll(max(1.0, 1000 * min(_SLICE, wall_left, max(0.005, cpu_left))))
            names = {number for number, _ in ready}
            if handle in names:
                return "exit"
            if owner in names:
                os._exit(0)  # the trainer is gone; the kernel ends all that is left
            if channel.fileno() in names:
                word = channel.recv(1 << 16)
                if not word:
                    os._exit(0)
                if json.loads(word).get("cancel") == request["id"]:
                    return "cancel"
    finally:
        os.close(handle)


def _seconds(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0


def _child(box: isolate.Box, role: Any, request: dict[str, Any], descriptors: list[int]) -> None:
    try:
        isolate.enter(box, descriptors, request["cpu"])
    except BaseException as error:
        message = f"{type(error).__name__}: {error}".encode(errors="replace")
        os.write(1, NOT_STARTED + message[:1000])
        os._exit(125)
    os.write(1, STARTED)
    try:
        role.main()
    finally:
        os._exit(124)
