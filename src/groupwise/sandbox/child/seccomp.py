"""A seccomp filter from a list of allowed calls: threads, files, pipes; no process, no socket, no kernel toys."""

import ctypes
import struct
from dataclasses import dataclass

from .syscalls import ARCHITECTURES, MACHINE, call, numbers


def _names(text: str) -> list[str]:
    return text.split()


ALLOWED = _names("""
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
rt_sigreturn pread64 pwrite64 readv writev access pipe select sched_yield mremap madvise dup dup2 pause
nanosleep getitimer alarm setitimer getpid recvfrom shutdown getsockname getpeername getsockopt exit wait4 uname
truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink readlink umask
gettimeofday getrlimit setrlimit getrusage sysinfo times getuid getgid geteuid getegid getppid getpgrp getgroups
getresuid getresgid getpgid getsid capget rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack statfs fstatfs
getpriority sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min gettid
fgetxattr flistxattr time futex sched_getaffinity epoll_create getdents64
set_tid_address restart_syscall fadvise64 clock_gettime clock_getres clock_nanosleep exit_group epoll_wait
epoll_ctl waitid openat mkdirat newfstatat unlinkat renameat linkat symlinkat readlinkat faccessat pselect6
ppoll set_robust_list epoll_pwait fallocate eventfd2 epoll_create1 dup3 pipe2 preadv pwritev getcpu getrandom
preadv2 pwritev2 statx rseq close_range faccessat2 epoll_pwait2 renameat2
""")
# Landlock does not rule over these: only where the file system is the child's own, or read-only, may they be called.
OWN_FILES = _names("""
flock chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat getxattr lgetxattr listxattr llistxattr
""")
PRETENDED = ("fsync", "fdatasync", "msync")  # nothing to do for the child, much for a disk it can only read
ABSENT = ("clone3",)  # its flags hide behind a pointer: "no such call" makes the C library use clone

EPERM, ENOSYS = 1, 38
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LD, JEQ, JGE, JSET, JA, RET, AND = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06, 0x54

_ANY_PID = 0xABCDEF01  # stands for the child's own number until it is known
_THREAD = 0x00010000  # CLONE_THREAD
_NEW = 0x7E020080  # every CLONE_NEW*
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1034)  # no owner, signal, lease, notify, pipe size
_IOCTL = (0x541B, 0x5421, 0x5450, 0x5451, 0x5401, 0x5413)  # FIONREAD FIONBIO FIO(N)CLEX TCGETS TIOCGWINSZ
_PRCTL = (3, 15, 16, 21, 23, 39)  # dumpable? name, seccomp?, bounding set?, no_new_privs?

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Check:
    """Allow the call if `argument` (its low 32 bits, masked) is one of `values`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    forbidden: int = 0  # bits that must not be set besides
    high: bool = False  # look at the upper 32 bits

    def code(self) -> list[Instruction]:
        out: list[Instruction] = [(LD, 0, 0, 16 + 8 * self.argument + 4 * self.high)]
        if self.forbidden:
            out.append((JSET, 0, 1, self.forbidden))
            out.append((RET, 0, 0, ERRNO | EPERM))
        if self.mask != 0xFFFFFFFF:
            out.append((AND, 0, 0, self.mask))
        for place, value in enumerate(self.values):
            out.append((JEQ, len(self.values) - place, 0, value & 0xFFFFFFFF))
        return [*out, (RET, 0, 0, ERRNO | EPERM), (RET, 0, 0, ALLOW)]


def _both(first: _Check, second: _Check) -> list[Instruction]:
    """The first one's `allow` falls through to the second."""
    return first.code()[:-1] + second.code()


def _rules(pid: int, *, own_files: bool, shrinking: bool) -> dict[str, list[Instruction]]:
    allow: list[Instruction] = [(RET, 0, 0, ALLOW)]
    rules = dict.fromkeys(ALLOWED, allow)
    if own_files:
        rules |= dict.fromkeys(OWN_FILES, allow)
    if not shrinking:
        rules.pop("truncate")
    rules |= {name: [(RET, 0, 0, ERRNO | ENOSYS)] for name in ABSENT}
    rules |= {name: [(RET, 0, 0, ERRNO)] for name in PRETENDED}
    rules |= {
        "clone": _Check(0, (_THREAD,), _THREAD, forbidden=_NEW).code(),
        "fcntl": _Check(1, _FCNTL).code(),
        "ioctl": _Check(1, _IOCTL).code(),
        "prctl": _Check(0, _PRCTL).code(),
        "prlimit64": _Check(0, (0,)).code(),
        "kill": _Check(0, (pid,)).code(),
        "tgkill": _Check(0, (pid,)).code(),
        "socketpair": _both(_Check(0, (1,)), _Check(1, (1,), 0xF)),  # AF_UNIX, SOCK_STREAM
        "sendto": _both(_Check(4, (0,)), _Check(4, (0,), high=True)),  # to no address
    }
    return rules


def _tree(edges: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """Binary search: edges are (first number, code) in order; the code holds up to the next edge."""
    if len(edges) == 1:
        return edges[0][1]
    middle = len(edges) // 2
    left, right = _tree(edges[:middle]), _tree(edges[middle:])
    if len(left) <= 255:
        return [(JGE, len(left), 0, edges[middle][0]), *left, *right]
    return [(JGE, 0, 1, edges[middle][0]), (JA, 0, 0, len(left)), *left, *right]


def program(pid: int, *, own_files: bool, shrinking: bool, machine: str = MACHINE) -> list[Instruction]:
    """The filter for a child that knows itself as `pid`.

    `own_files`: the child may change modes and times; `shrinking`: it may truncate files by path.
    """
    table = numbers(machine)
    refuse: list[Instruction] = [(RET, 0, 0, ERRNO | EPERM)]
    rules = {
        table[name]: code
        for name, code in _rules(pid, own_files=own_files, shrinking=shrinking).items()
        if name in table
    }
    edges: list[tuple[int, list[Instruction]]] = [(0, rules.get(0, refuse))]
    for number in range(1, max(table.values()) + 1):
        code = rules.get(number, refuse)
        if code != edges[-1][1]:
            edges.append((number, code))
    edges.append((max(table.values()) + 1, [(RET, 0, 0, ERRNO | ENOSYS)]))
    head: list[Instruction] = [
        (LD, 0, 0, 4),
        (JEQ, 1, 0, ARCHITECTURES[machine][0]),
        (RET, 0, 0, KILL),
        (LD, 0, 0, 0),
    ]
    return head + _tree(edges)  # x32's numbers lie far above the last edge: no such call


class _Fprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Filter:
    """A compiled filter, ready to be installed in a child."""

    def __init__(self, *, own_files: bool, shrinking: bool) -> None:
        instructions = program(_ANY_PID, own_files=own_files, shrinking=shrinking)
        raw = b"".join(struct.pack("=HBBI", *one) for one in instructions)
        self._buffer = ctypes.create_string_buffer(raw, len(raw))
        self._fprog = _Fprog(len(instructions), ctypes.addressof(self._buffer))
        self._pids = [8 * place + 4 for place, one in enumerate(instructions) if one[3] == _ANY_PID]

    def install(self, pid: int) -> None:
        """For the calling thread, which knows itself as `pid`; needs no_new_privs. Cannot be taken back."""
        for place in self._pids:
            struct.pack_into("=I", self._buffer, place, pid)
        call("seccomp", 1, 0, self._fprog)
