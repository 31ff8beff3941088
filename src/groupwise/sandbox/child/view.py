"""The file system a program sees: read-only copies of Python's library and the system's shared ones, and /tmp."""

import ctypes
import os
from collections.abc import Iterable
from typing import Any

from .syscalls import call

DEVICES = ("null", "zero", "urandom", "random")

_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_CLONE, _CLOEXEC = 1, 0o2000000
_RDONLY, _NOSUID, _NODEV = 1, 2, 4
_MOUNT_RDONLY, _MOUNT_REMOUNT, _MOUNT_REC_PRIVATE = 1, 32, 0x4000 | 0x40000
_OVER = ("/mnt", "/media", "/srv", "/opt", "/run", "/tmp", "/var")  # one of them is covered while the view is built


def build(paths: dict[str, Any]) -> None:
    """Make `paths["show"]` (and packages, devices, an empty /tmp) the whole file system of this mount namespace."""
    call("mount", None, b"/", None, _MOUNT_REC_PRIVATE, None, about="/ private")
    quiet = _RDONLY | _NOSUID | _NODEV
    shown = [(path, _copy(path, quiet)) for path in paths["show"]]
    shown += [(path, _copy(path, _RDONLY | _NOSUID)) for path in paths["devices"]]  # their times, not what is written
    packages = [(path, _copy(path, quiet)) for path in paths["packages"]]
    root = next(path for path in _OVER if os.path.isdir(path) and not os.path.islink(path))
    call("mount", b"tmpfs", root.encode(), b"tmpfs", _NOSUID | _NODEV, b"size=1m,mode=755", about=root)
    for link, target in paths["links"]:
        _parents(root + link)
        os.symlink(target, root + link)
    os.mkdir(root + "/tmp", 0o777)
    for path, copy in shown:
        _place(path, copy, root + path)
    emptied = [root + path for path in paths["mask"] if os.path.isdir(root + path)]
    for path in emptied:
        call("mount", b"tmpfs", path.encode(), b"tmpfs", _NOSUID | _NODEV, b"size=64k,mode=755", about=path)
    for path, copy in packages:
        _place(path, copy, root + path)
    for path in emptied:
        _read_only(path)
    os.chdir(root)
    _pivot()
    _read_only("/")


def _read_only(path: str) -> None:
    flags = _MOUNT_REMOUNT | _RDONLY | _NOSUID | _NODEV
    call("mount", None, path.encode(), None, flags, None, about=f"{path} read-only")


def _copy(path: str, attributes: int) -> int:
    tree = call("open_tree", _AT_FDCWD, path.encode(), _CLONE | _CLOEXEC | _AT_RECURSIVE, about=path)
    wanted = attributes.to_bytes(8, "little") + bytes(24)
    attributes_of = ctypes.create_string_buffer(wanted, len(wanted))
    call("mount_setattr", tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes_of, 32, about=path)
    return tree


def _place(path: str, copy: int, target: str) -> None:
    _parents(target)
    if os.path.isdir(path):
        os.makedirs(target, 0o755, exist_ok=True)
    elif not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    call("move_mount", copy, b"", _AT_FDCWD, target.encode(), 4, about=path)
    os.close(copy)


def scratch(options: bytes, below: Iterable[str]) -> None:
    """A new /tmp, in which these paths below it are found again."""
    kept = [
        (path, os.path.isdir(path), call("open_tree", _AT_FDCWD, path.encode(), _CLONE | _CLOEXEC | _AT_RECURSIVE))
        for path in below
    ]
    call("mount", b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, options, about="/tmp of one job")
    for path, folder, copy in kept:
        os.makedirs(path if folder else os.path.dirname(path), 0o755, exist_ok=True)
        if not folder:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        call("move_mount", copy, b"", _AT_FDCWD, path.encode(), 4, about=path)
        os.close(copy)


def _parents(path: str) -> None:
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)


def _pivot() -> None:
    call("pivot_root", b".", b".", about="this root cannot be left, e.g. an initramfs")
    call("umount2", b".", 2, about="the old root")
    os.chdir("/")


def without_masked(paths: Iterable[str], masked: set[str]) -> list[str]:
    """The paths, a folder that holds something masked replaced by what else is in it."""
    out: list[str] = []
    for path in paths:
        if path in masked:
            continue
        if any(other.startswith(path + "/") for other in masked):
            out += without_masked(sorted(os.path.join(path, name) for name in os.listdir(path)), masked)
        elif os.path.exists(path):
            out.append(path)
    return out
