# expect: pass
# needs: x86_64
import ctypes
import os


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    held = (ctypes.c_uint32 * 6)()
    libc.syscall(ctypes.c_long(125), header, held)
    if any(held):
        print("ESCAPE capabilities", list(held))
    every = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    for name, number, arguments in (
        ("capset", 126, (header, every)),
        ("setuid", 105, (0,)),
        ("setresuid", 117, (0, 0, 0)),
        ("setresgid", 119, (0, 0, 0)),
        ("setgroups", 116, (0, None)),
        ("setfsuid", 122, (0,)),
        ("dumpable", 157, (4, 1, 0, 0, 0)),
        ("set tracer", 157, (0x59616D61, -1, 0, 0, 0)),
        ("subreaper", 157, (36, 1, 0, 0, 0)),
        ("set mm", 157, (35, 1, 0, 0, 0)),
        ("ambient", 157, (47, 2, 0, 0, 0)),
        ("death signal", 157, (1, 0, 0, 0, 0)),
        ("keep caps", 157, (8, 1, 0, 0, 0)),
    ):
        if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
            print("ESCAPE", name)
    try:
        os.setsid()
        print("ESCAPE a session of its own")
    except OSError as error:
        print(error)
    return a + b
