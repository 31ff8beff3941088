"""A program that tries what must be refused, run like any other: at the start and now and then after."""

from os import getpid

from groupwise.sandbox.child import values, wire
from groupwise.sandbox.child.syscalls import NUMBERS
from groupwise.sandbox.execution import Execution, message, pump
from groupwise.sandbox.zygote import START, StartFailed, Zygote

EVERY = 1000  # jobs of a worker between two canaries

_SOURCE = """
import ctypes, os, signal, socket, subprocess, sys

def tried(name, act, out):
    try:
        if act() is not False:
            out.append(name)
    except BaseException:
        pass

def raw(number, *arguments):
    return ctypes.CDLL(None).syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0

def ways_out(file, parent, numbers):
    out = []
    tried("read a file of the library's", lambda: open(file).read(), out)
    tried("read its parent's environment", lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(), out)
    tried("read /etc/passwd", lambda: open("/etc/passwd").read(), out)
    tried("write beside the library", lambda: open(file + ".written", "w").close() or os.unlink(file + ".written"), out)
    tried("change a file's mode", lambda: os.chmod(file, 0o644), out)
    tried("open a network socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(), out)
    tried("open a local socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close(), out)
    def start():
        try:
            os.execv("/no/such/program", ["program"])
        except FileNotFoundError:
            return True  # it was looked for

    tried("start a program", start, out)
    tried("signal another process", lambda: os.kill(parent, 0) if parent != os.getpid() else False, out)
    tried("signal its parent", lambda: os.kill(os.getppid(), 0) if os.getppid() else False, out)
    for name, number, *arguments in numbers:
        tried(f"call {name}", lambda: raw(number, *arguments), out)
    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    tried("fork", fork, out)
    return out
"""


def _calls() -> list[tuple[object, ...]]:
    return [("unshare", NUMBERS["unshare"], 0x10000000), ("pidfd_open", NUMBERS["pidfd_open"], 1, 0)]


def ways_out(zygote: Zygote, tier: str) -> list[str]:
    """What a program could do that it must not be able to; in tier `rlimits` only that it ran is checked.

    Raises StartFailed if it could not be run, ZygoteGone as `pump` does.
    """
    arguments: tuple[tuple[object, ...], dict[str, object]] = ((str(START), getpid(), _calls()), {})
    job = {
        "mode": "calls",
        "seed": 0,
        "source": _SOURCE if tier != "rlimits" else "def ways_out(*_): return []",
        "entry": "ways_out",
        "calls": [values.encode(arguments)],
    }
    run = Execution(zygote, cpu=5.0, wall=20.0, stdout=1 << 16, result=1 << 16)
    run.pipe_in(b"")
    run.pipe_out(run.stdout)
    run.pipe_out(run.stderr)
    run.pipe_in(message(job))
    run.pipe_out(run.answers)
    try:
        run.start()
    except BaseException:
        run.close()
        raise
    pump([run])
    if not run.started:
        call = run.trouble.partition("] ")[2].partition(":")[0].partition(" ")[0]
        raise StartFailed(call or "isolation", run.trouble or "the child ended before it was isolated")
    frames = wire.split(run.answers.data, 2)
    if len(frames) != 1:
        raise StartFailed("canary", f"no answer: {run.reply} {run.complaints[-500:]}")
    index, status, *rest = values.loads(frames[0])
    if (index, status) != (0, "ok"):
        raise StartFailed("canary", f"{status}: {rest}")
    found = values.decode(rest)
    if not isinstance(found, list):
        raise StartFailed("canary", f"answered {found!r}")
    return [str(way) for way in found]
