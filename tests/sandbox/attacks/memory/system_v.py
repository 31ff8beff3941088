# expect: pass
# needs: x86_64
import ctypes


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    for name, number, arguments in (
        ("shmget", 29, (0, 64 << 20, 0o1600)),
        ("msgget", 68, (0, 0o1600)),
        ("semget", 64, (0, 4, 0o1600)),
        ("mq_open", 240, (b"q", 0o102, 0o600, 0)),
    ):
        if libc.syscall(number, *arguments) >= 0:
            print("ESCAPE", name)
    return a + b
