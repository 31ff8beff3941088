"""How a zygote, and then each of its children, gives up what it could do to the machine."""

import ctypes
import fcntl
import os
import resource
import signal
import stat
from dataclasses import dataclass, field
from typing import Any

from . import landlock, seccomp, view
from .syscalls import CallFailed, call, refused

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
NOBODY = 65534
MIB = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


@dataclass(slots=True)
class Box:
    """What the zygote prepared for its children."""

    limits: dict[str, int]
    tier: str
    zygote: int = 0  # its process id
    landlock: int = 0  # version of the ABI, 0 without
    rules: int = -1  # a Landlock ruleset's descriptor
    filtered: bool = True
    own: int = -1  # pidfd of the zygote
    scratch: bytes = b""  # options of /tmp
    below_tmp: tuple[str, ...] = ()  # packages that lie there, as a virtual environment in /tmp has them
    no_rights: tuple[_Header, ctypes.Array[ctypes.c_char]] = field(
        default_factory=lambda: (_Header(0x20080522, 0), ctypes.create_string_buffer(24))
    )
    notes: list[str] = field(default_factory=list)  # what is not as it should be
    filter: seccomp.Filter | None = None


def start(tier: str, paths: dict[str, Any], limits: dict[str, int]) -> Box:
    """Bring this process into the tier. In `namespaces` it returns in a child that is pid 1 of its own namespace.

    Raises CallFailed or OSError naming what was refused.
    """
    box = Box(limits=limits, tier=tier)
    box.below_tmp = tuple(path for path in paths["packages"] if path.startswith("/tmp/"))
    box.scratch = f"size={limits['scratch']},nr_inodes=1024,mode=777".encode()
    _first_to_die(box)
    _set_limits(box)
    if tier == "namespaces":
        _namespaces(box, paths)
    elif tier == "landlock":
        _landlock(box, paths)
    else:
        _limits_only(box)
    if tier == "namespaces":
        # Counted in this user namespace alone. Set before there was one, it would be its ceiling for all processes of
        # this user on the machine, and one worker's threads would keep another's children from being forked.
        _bound(resource.RLIMIT_NPROC, limits["threads"])
        box.own = above(call("pidfd_open", os.getpid(), 0))
    _no_way_up()
    box.zygote = os.getpid()
    if box.filtered:
        own_files = box.tier == "namespaces"
        box.filter = seccomp.Filter(own_files=own_files, shrinking=own_files or box.landlock >= 3)
    return box


def above(number: int) -> int:
    """The descriptor moved away from the low numbers, which belong to a child's pipes."""
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 32)
    os.close(number)
    return moved


def _size_now() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _first_to_die(box: Box) -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError as error:
        box.notes.append(f"not the first to be killed when the machine's memory runs out ({error.strerror})")


def _prctl(option: int, value: int) -> int:
    return int(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)))


# --- tier `namespaces` ------------------------------------------------------------------------------------------


def _namespaces(box: Box, paths: dict[str, Any]) -> None:
    root = os.geteuid() == 0
    box.landlock = _landlock_version(box)
    proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
    mine = NEWNS | NEWIPC | NEWUTS | NEWNET | NEWCGROUP
    if root:
        call("unshare", mine, about="mount, ipc, uts, net and cgroup namespaces")
        view.build(paths)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)  # limits on processes do not bind uid 0
        _prctl(4, 1)  # dumpable again, so that it may write its own uid_map
        uid, gid = NOBODY, NOBODY
        call("unshare", NEWUSER | NEWPID | NEWNS | NEWIPC | NEWUTS | NEWNET, about="user and pid namespaces")
    else:
        uid, gid = os.geteuid(), os.getegid()
        call("unshare", NEWUSER | NEWPID | mine, about="user namespace of an ordinary user")
    _map(proc, uid, gid)
    if not root:
        view.build(paths)
    os.close(proc)
    _become_first()
    if box.landlock:
        box.rules = above(landlock.nothing_new(box.landlock))


def _map(proc: int, uid: int, gid: int) -> None:
    """Be root in the new user namespace, and there only."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        if refused(name):
            raise CallFailed(name, 1, "writing /proc/self")
        try:
            file = os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc)
            try:
                os.write(file, text.encode())
            finally:
                os.close(file)
        except OSError as error:
            raise CallFailed(name, error.errno or 1, "writing /proc/self") from None


def _become_first() -> None:
    """Fork: the child is pid 1 of the new namespace and goes on, the parent waits and ends with it."""
    child = os.fork()
    if child == 0:
        _prctl(1, signal.SIGKILL)
        return
    for number in range(3, 256):
        try:
            os.close(number)
        except OSError:
            continue
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def fork(box: Box) -> int:
    """Fork a child; in tier `namespaces` it is pid 1 of a namespace of its own."""
    if box.tier != "namespaces":
        return os.fork()
    call("unshare", NEWPID, about="a pid namespace for one job")
    child = os.fork()
    if child:
        try:
            call("setns", box.own, NEWPID, about="back to the worker's own pid namespace")
        except CallFailed:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
    return child


# --- tiers `landlock` and `rlimits` -----------------------------------------------------------------------------


def _landlock_version(box: Box) -> int:
    try:
        return landlock.abi()
    except CallFailed as error:
        box.notes.append(f"no Landlock besides the namespaces ({error.strerror})")
        return 0


def _landlock(box: Box, paths: dict[str, Any]) -> None:
    box.landlock = landlock.abi()
    if box.landlock < 3:
        box.notes.append(f"Landlock ABI {box.landlock}: truncating a file by path is refused by seccomp instead")
    if box.landlock < 6:
        box.notes.append(f"Landlock ABI {box.landlock}: signals and sockets are refused by seccomp alone")
    if os.geteuid() == 0:
        _nobody_if_it_can_read(box, paths)
    readable = [(path, landlock.READ) for path in view.without_masked(paths["show"], set(paths["mask"]))]
    readable += [(path, landlock.READ) for path in paths["packages"]]
    listed = [(path, landlock.READ_DIR) for path in paths["list"]]
    devices = [(path, landlock.READ_FILE | landlock.WRITE_FILE) for path in paths["devices"]]
    box.rules = above(landlock.ruleset(readable + listed + devices, box.landlock))
    box.notes.append("no directory is writable: temporary files fail")


def _nobody_if_it_can_read(box: Box, paths: dict[str, Any]) -> None:
    if not all(_others_may_read(path) for path in paths["show"]):
        box.notes.append("children stay uid 0, without capabilities: user `nobody` cannot read this Python")
        return
    try:
        os.setgroups([])
    except PermissionError:  # root in name only
        box.notes.append("children stay uid 0, without capabilities: this process may not become user `nobody`")
        return
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _others_may_read(path: str) -> bool:
    while True:
        mode = os.stat(path).st_mode
        if not mode & (stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH):
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def _limits_only(box: Box) -> None:
    box.notes.append("files, environment and memory of other processes of this user can be read: nothing is hidden")
    try:
        box.filtered = not refused("seccomp") and _prctl(21, 0) == 0
    except OSError:
        box.filtered = False
    if not box.filtered:
        box.notes.append("no seccomp: processes and sockets are allowed")


# --- the child --------------------------------------------------------------------------------------------------


def enter(box: Box, descriptors: list[int], cpu: float) -> None:
    """Make the calling process, just forked, a child that may run foreign code. Raises on any refusal.

    Short on purpose: every page of memory that is touched here is copied, and that is what a child costs.
    """
    os.setsid()
    for number, source in enumerate(descriptors):
        os.dup2(source, number, True)
    if box.tier == "namespaces":  # the kernel ends it with the zygote, which is pid 1 above it
        call("unshare", NEWNS | NEWIPC, about="mount and ipc namespace of one job")
        view.scratch(box.scratch, box.below_tmp)
        os.chdir("/tmp")
    else:
        _prctl(1, signal.SIGKILL)
        if os.getppid() != box.zygote:  # it ended before the line above
            os._exit(1)
    seconds = int(cpu) + 2  # behind the zygote's own clock
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    call("capset", box.no_rights[0], box.no_rights[1])
    if box.rules >= 0:
        landlock.restrict(box.rules)
    os.closerange(len(descriptors), 64)
    if box.filter is not None:
        box.filter.install(os.getpid())  # the last step


def _set_limits(box: Box) -> None:
    """On the zygote, whose children inherit them."""
    bounds = [
        (resource.RLIMIT_AS, _size_now() + box.limits["memory"]),
        (resource.RLIMIT_FSIZE, 16 * MIB),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, 64 * MIB),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ]
    for which, value in bounds:
        _bound(which, value)


def _bound(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _no_way_up() -> None:
    """Not dumpable (no core file, no tracer), no rights by exec: on the zygote, whose children inherit it."""
    for capability in range(64):
        if _prctl(24, capability) < 0:  # the bounding set ends here
            break
    _prctl(4, 0)
    if _prctl(38, 1) < 0:
        raise CallFailed("prctl", ctypes.get_errno(), "no_new_privs")
