"""Landlock: which files may be read and written, by any process and without a privilege. Linux 5.13 or later."""

import ctypes
import os
import stat
from collections.abc import Iterable

from .syscalls import call

READ_FILE, READ_DIR, EXECUTE, WRITE_FILE = 1 << 2, 1 << 3, 1 << 0, 1 << 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_KNOWN = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))  # ABI, bits that came with it
READ = READ_FILE | READ_DIR
_ON_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """The kernel's version of Landlock; CallFailed where there is none."""
    return call("landlock_create_ruleset", None, 0, 1)


def ruleset(allowed: Iterable[tuple[str, int]], version: int) -> int:
    """A file descriptor that `restrict` takes: all files closed but those at or below the paths given.

    From ABI 4 no TCP either, from ABI 6 no signal and no abstract socket out of the domain.
    """
    files = sum(bits for since, bits in _KNOWN if version >= since)
    wanted = _Ruleset(files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = call("landlock_create_ruleset", wanted, size, 0)
    for path, bits in allowed:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                bits &= _ON_A_FILE
            call("landlock_add_rule", rules, 1, _Beneath(bits & files, place), 0, about=path)
        finally:
            os.close(place)
    return rules


def nothing_new(version: int) -> int:
    """A ruleset for where the file system is the child's own: no exec, no device, pipe or socket file; no network."""
    files = EXECUTE | (1 << 6) | (1 << 9) | (1 << 10) | (1 << 11)
    wanted = _Ruleset(files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    return call("landlock_create_ruleset", wanted, 24 if version >= 6 else 16 if version >= 4 else 8, 0)


def restrict(rules: int) -> None:
    """For the calling thread and what it starts; needs no_new_privs. Cannot be taken back."""
    call("landlock_restrict_self", rules, 0)
