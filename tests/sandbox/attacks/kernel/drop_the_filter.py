# expect: pass
# needs: x86_64
import ctypes
import socket


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    for name, number, arguments in (
        ("seccomp mode 0", 157, (22, 0, 0, 0, 0)),
        ("seccomp filter", 157, (22, 2, 0, 0, 0)),
        ("no_new_privs off", 157, (38, 0, 0, 0, 0)),
        ("dumpable", 157, (4, 1, 0, 0, 0)),
        ("tsc", 157, (26, 2, 0, 0, 0)),
        ("syscall user dispatch", 157, (59, 1, 0, 0, 0)),
        ("mdwe", 157, (65, 0, 0, 0, 0)),
        ("set_vma", 157, (0x53564D41, 0, 0, 0, 0)),
        ("landlock ruleset", 444, (0, 0, 1)),
    ):
        if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
            print("ESCAPE", name)
    try:
        socket.socket()
        print("ESCAPE socket")
    except OSError as error:
        print(error)
    return a + b
