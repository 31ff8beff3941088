# expect: pass
# needs: x86_64
import ctypes
import os


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    for path in ("/" + "../" * 30 + "etc/passwd", "../" * 30 + "etc/passwd", "/proc/self/root/etc/passwd"):
        try:
            with open(path) as file:
                print("ESCAPE", path, file.readline())
        except OSError:
            continue
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY) if os.access("/", os.R_OK) and "@TIER@" == "namespaces" else None
    if root is not None:
        for path in ("../etc/passwd", "../../etc/passwd"):
            try:
                os.open(path, os.O_RDONLY, dir_fd=root)
                print("ESCAPE", path)
            except OSError:
                continue
        os.fchdir(root)
    for name, number, arguments in (
        ("chroot", 161, (b"/tmp",)),
        ("pivot_root", 155, (b"/tmp", b"/tmp")),
        ("mount", 165, (b"x", b"/tmp", b"tmpfs", 0, 0)),
        ("bind", 165, (b"/", b"/tmp", 0, 4096, 0)),
        ("remount", 165, (0, b"/usr", 0, 32, 0)),
        ("umount2", 166, (b"/usr", 2)),
        ("umount tmp", 166, (b"/tmp", 2)),
        ("open_tree", 428, (-100, b"/", 1)),
        ("fsopen", 430, (b"tmpfs", 0)),
        ("fspick", 433, (-100, b"/", 0)),
        ("mount_setattr", 442, (-100, b"/", 0, bytes(32), 32)),
        ("name_to_handle_at", 303, (-100, b"/tmp", ctypes.create_string_buffer(200), ctypes.byref(ctypes.c_int()), 0)),
        ("open_by_handle_at", 304, (3, ctypes.create_string_buffer(200), 0)),
        ("openat2", 437, (-100, b"/etc/passwd", bytes(24), 24)),
        ("statmount", 457, (bytes(24), ctypes.create_string_buffer(512), 512, 0)),
        ("quotactl", 179, (0x80000100, b"/dev/vda", 0, 0)),
        ("swapon", 167, (b"/tmp", 0)),
    ):
        if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
            print("ESCAPE", name)
    return a + b
