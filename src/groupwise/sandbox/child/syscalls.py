"""Linux system calls by name, on x86-64 and aarch64, through libc's `syscall`."""

import ctypes
import os
import platform
from collections.abc import Iterable

# name, number on x86-64, number on aarch64; "-": there is none. From the kernel's own unistd headers.
_TABLE = """
read 0 63,  write 1 64,  open 2 -,  close 3 57,  stat 4 -,  fstat 5 80,  lstat 6 -,  poll 7 -,  lseek 8 62,
mmap 9 222,  mprotect 10 226,  munmap 11 215,  brk 12 214,  rt_sigaction 13 134,  rt_sigprocmask 14 135,
rt_sigreturn 15 139,  pread64 17 67,  pwrite64 18 68,  readv 19 65,  writev 20 66,  access 21 -,  pipe 22 -,
select 23 -,  sched_yield 24 124,  mremap 25 216,  msync 26 227,  madvise 28 233,  dup 32 23,  dup2 33 -,
pause 34 -,  nanosleep 35 101,  getitimer 36 102,  alarm 37 -,  setitimer 38 103,  getpid 39 172,
sendto 44 206,  recvfrom 45 207,  shutdown 48 210,  getsockname 51 204,  getpeername 52 205,
getsockopt 55 209,  exit 60 93,  wait4 61 260,  uname 63 160,  fsync 74 82,  fdatasync 75 83,  truncate 76 45,
ftruncate 77 46,  getdents 78 -,  getcwd 79 17,  chdir 80 49,  fchdir 81 50,  rename 82 -,  mkdir 83 -,
rmdir 84 -,  creat 85 -,  link 86 -,  unlink 87 -,  symlink 88 -,  readlink 89 -,  umask 95 166,
gettimeofday 96 169,  getrlimit 97 163,  getrusage 98 165,  sysinfo 99 179,  times 100 153,  getuid 102 174,
getgid 104 176,  geteuid 107 175,  getegid 108 177,  getppid 110 173,  getpgrp 111 -,  getgroups 115 158,
getresuid 118 148,  getresgid 120 150,  getpgid 121 155,  getsid 124 156,  capget 125 90,
rt_sigpending 127 136,  rt_sigtimedwait 128 137,  rt_sigsuspend 130 133,  sigaltstack 131 132,  statfs 137 43,
fstatfs 138 44,  getpriority 140 141,  sched_getparam 143 121,  sched_getscheduler 145 120,
sched_get_priority_max 146 125,  sched_get_priority_min 147 126,  gettid 186 178,  getxattr 191 8,
lgetxattr 192 9,  fgetxattr 193 10,  listxattr 194 11,  llistxattr 195 12,  flistxattr 196 13,  time 201 -,
futex 202 98,  sched_getaffinity 204 123,  epoll_create 213 -,  getdents64 217 61,  set_tid_address 218 96,
restart_syscall 219 128,  fadvise64 221 223,  clock_gettime 228 113,  clock_getres 229 114,
clock_nanosleep 230 115,  exit_group 231 94,  epoll_wait 232 -,  epoll_ctl 233 21,  waitid 247 95,
openat 257 56,  mkdirat 258 34,  newfstatat 262 79,  unlinkat 263 35,  renameat 264 38,  linkat 265 37,
symlinkat 266 36,  readlinkat 267 78,  faccessat 269 48,  pselect6 270 72,  ppoll 271 73,
set_robust_list 273 99,  epoll_pwait 281 22,  fallocate 285 47,  eventfd2 290 19,  epoll_create1 291 20,
dup3 292 24,  pipe2 293 59,  preadv 295 69,  pwritev 296 70,  getcpu 309 168,  getrandom 318 278,
membarrier 324 283,  preadv2 327 286,  pwritev2 328 287,  statx 332 291,  rseq 334 293,  close_range 436 436,
faccessat2 439 439,  epoll_pwait2 441 441,  renameat2 316 276,  flock 73 32,  chmod 90 -,  fchmod 91 52,
fchmodat 268 53,  fchmodat2 452 452,  utime 132 -,  utimes 235 -,  utimensat 280 88,  futimesat 261 -,
lchown 94 -,  chown 92 -,  fchown 93 55,  fchownat 260 54,  clone 56 220,  clone3 435 435,  fcntl 72 25,
ioctl 16 29,  prctl 157 167,  prlimit64 302 261,  setrlimit 160 164,  kill 62 129,  tgkill 234 131,
tkill 200 130,  socketpair 53 199,  mount 165 40,  umount2 166 39,  pivot_root 155 41,  unshare 272 97,
setns 308 268,  seccomp 317 277,  landlock_create_ruleset 444 444,  landlock_add_rule 445 445,
landlock_restrict_self 446 446,  open_tree 428 428,  move_mount 429 429,  mount_setattr 442 442,
pidfd_open 434 434,  capset 126 91
"""

ARCHITECTURES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}  # AUDIT_ARCH_*, column of the table
MACHINE = platform.machine()

_GROUPS = {
    "mount": {"mount", "umount2", "open_tree", "move_mount", "mount_setattr"},
    "landlock": {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
}
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_refused: set[str] = set()  # calls that a test has switched off

Argument = int | bytes | None | ctypes.Array[ctypes.c_char] | ctypes.Structure


def numbers(machine: str = MACHINE) -> dict[str, int]:
    """Name to number on this machine (or the one named)."""
    column = ARCHITECTURES[machine][1]
    rows = (row.split() for row in _TABLE.replace("\n", " ").split(",") if row.strip())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


NUMBERS = numbers() if MACHINE in ARCHITECTURES else {}


class CallFailed(OSError):  # noqa: N818  # says what failed
    """A system call was refused. `call` is its name."""

    def __init__(self, call: str, error: int, about: str = "") -> None:
        super().__init__(error, f"{call}{f' ({about})' if about else ''}: {os.strerror(error)}")
        self.call = call


def refuse(names: Iterable[str]) -> None:
    """From now on these calls fail with EPERM, as they would on a machine that forbids them."""
    _refused.update(names)
    for name in list(_refused):
        _refused.update(_GROUPS.get(name, ()))


def refused(name: str) -> bool:
    """Whether a test has switched this call off."""
    return name in _refused


def call(name: str, *arguments: Argument, about: str = "") -> int:
    """The call's result; CallFailed where it is negative."""
    if name in _refused:
        raise CallFailed(name, 1, about)
    number = NUMBERS.get(name)
    if number is None:
        raise CallFailed(name, 38, about)
    result = int(_libc.syscall(ctypes.c_long(number), *map(_as_c, arguments)))
    if result < 0:
        raise CallFailed(name, ctypes.get_errno(), about)
    return result


def _as_c(value: Argument) -> object:
    if value is None:
        return ctypes.c_long(0)
    if isinstance(value, int):
        return ctypes.c_long(value)
    return ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.byref(value)
