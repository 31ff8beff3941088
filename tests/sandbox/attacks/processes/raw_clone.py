# expect: pass
# needs: x86_64
import ctypes

SIGCHLD, VM, FILES, SIGHAND, THREAD, VFORK, PARENT = 17, 0x100, 0x400, 0x800, 0x10000, 0x4000, 0x8000


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    for name, number, arguments in (
        ("fork", 57, ()),
        ("clone", 56, (SIGCHLD, 0, 0, 0, 0)),
        ("clone parent", 56, (SIGCHLD | PARENT, 0, 0, 0, 0)),
        ("clone user", 56, (SIGCHLD | 0x10000000, 0, 0, 0, 0)),
        ("clone high", 56, ((1 << 40) | SIGCHLD, 0, 0, 0, 0)),
        ("clone3", 435, (0, 88)),
    ):
        got = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(x) for x in arguments))
        if got == 0:
            libc._exit(0)
        if got > 0:
            print("ESCAPE", name, got, flush=True)
    return a + b
