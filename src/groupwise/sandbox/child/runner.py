"""The child that runs the program being judged. It hands back answers; it never sees what is expected of it.

Descriptors: 0 stdin, 1 stdout, 2 stderr, 3 the job, 4 answers, 5 calls (mode `serve`).
"""

import _sitebuiltins
import atexit
import builtins
import linecache
import marshal
import os
import random
import sys
import threading
import traceback
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import values, wire

MEMORY_CODE = 77  # exit status of a program that ended by MemoryError
LOST_CODE = 124  # of one that could not answer: it broke what answering needs
JOB, ANSWERS, CALLS = 3, 4, 5


def warm_up() -> None:
    """Do once in the zygote what every child does, so that what it sets up is there for all."""
    values.decode(values.loads(values.dumps(values.encode(([1, "a", 2.5], {"b": (True, None)})))))
    exec(compile("from typing import List\ndef f(x):\n    return [x]\n", "<program>", "exec", dont_inherit=True), {})


def main() -> None:
    """Run the job on descriptor 3 and end the process."""
    run(marshal.loads(wire.Reader(JOB, 1 << 30).read()))


def run(job: dict[str, Any]) -> None:
    """Run this job and end the process."""
    os.close(JOB)
    random.seed(job["seed"])
    sys.argv = ["program"]
    for name in ("exit", "quit"):  # `site`, which defines them, is not loaded here
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    {"calls": _calls, "stdio": _stdio, "serve": _serve}[job["mode"]](job)


def _module(source: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    file = "<program>"
    module.__dict__["__file__"] = file
    linecache.cache[file] = (lambda: source,)  # read when a traceback is printed
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            continue
    os._exit(code)


def _stdio(job: dict[str, Any]) -> None:
    """As `python program.py` would."""
    os.close(ANSWERS)
    code = 0
    try:
        _module(job["source"], "__main__")
    except SystemExit as error:
        code = _exit_code(error)
    except MemoryError:
        code = MEMORY_CODE
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads as the interpreter does
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        code = code or 1
    _end(code)


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _load(job: dict[str, Any]) -> types.ModuleType:
    """The program as a module; if it cannot be loaded, say why and end."""
    try:
        module = _module(job["source"], "solution")
    except SystemExit as error:
        _end(_exit_code(error))
    except BaseException as error:
        _answer([-1, *_trouble(error)])
        _end(1)
    return module


def _trouble(error: BaseException) -> list[values.Token]:
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    kind = "memory" if isinstance(error, MemoryError) else "error"
    names = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins" and base is not object]
    return [kind, type(error).__name__[:100], text, names[0] if names else "Exception"]


def _answer(tokens: list[values.Token]) -> None:
    try:
        body = values.dumps(tokens)
        if len(body) > wire.LARGEST:
            body = values.dumps([tokens[0], "large", f"{len(body)} bytes"])
    except MemoryError:
        body = values.dumps([tokens[0], "memory", "MemoryError"])
    try:
        wire.write(ANSWERS, body)
    except wire.Closed:
        os._exit(0)


def _target(module: types.ModuleType, entry: str) -> Callable[..., Any]:
    """`f`, or `Class.method` on a fresh object of the class."""
    first, _, rest = entry.partition(".")
    found = getattr(module, first)
    for name in rest.split(".") if rest else ():
        found = getattr(found() if isinstance(found, type) else found, name)
    return found  # type: ignore[no-any-return]


def _attempt(call: Callable[[], list[values.Token]]) -> list[values.Token]:
    try:
        return call()
    except SystemExit as error:
        _end(_exit_code(error))
        raise
    except values.TooLarge as error:
        return ["large", str(error)]
    except BaseException as error:
        return _trouble(error)


def _calls(job: dict[str, Any]) -> None:
    """Answer every call of the job in turn."""
    module = _load(job)
    for index, tokens in enumerate(job["calls"]):

        def one(tokens: list[values.Token] = tokens) -> list[values.Token]:
            args, kwargs = values.decode(tokens)
            return ["ok", *values.encode(_target(module, job["entry"])(*args, **kwargs))]

        _answer([index, *_attempt(one)])
    _end(0)


def _serve(job: dict[str, Any]) -> None:
    """Answer calls as they come, until there are no more."""
    module = _load(job)
    _answer([0, "ok"])
    number = 0
    calls = wire.Reader(CALLS)
    while True:
        try:
            request = values.loads(calls.read())
        except wire.Closed:
            break
        number += 1
        answer = _attempt(lambda request=request: _served(module, request))  # type: ignore[misc]
        with suppress(BaseException):
            sys.stdout.flush()  # before the answer, after which the process may be ended at any time
        _answer([number, *answer])
    _end(0)


def _served(module: types.ModuleType, request: list[values.Token]) -> list[values.Token]:
    name, *rest = request
    args, kwargs = values.decode(rest)
    before = [values.dumps(values.encode(value)) if _mutable(value) else b"" for value in args]
    result = values.encode(_target(module, str(name))(*args, **kwargs))
    changed: list[values.Token] = []
    for place, (value, text) in enumerate(zip(args, before, strict=True)):
        if text:
            tokens = values.encode(value)
            if values.dumps(tokens) != text:
                changed += [place, len(tokens), *tokens]
    return ["ok", len(result), *result, *changed]


def _mutable(value: object) -> bool:
    return isinstance(value, list | dict | set | bytearray)
