# expect: pass
# needs: x86_64
import ctypes
import os


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    page = ctypes.create_string_buffer(64)
    mine = (ctypes.c_void_p * 2)(ctypes.addressof(page), 64)
    for who in {os.getppid(), 1, int("@VICTIM@"), int("@RUNNER@")} - {os.getpid(), 0}:
        for name, number, arguments in (
            ("attach", 101, (16, who, 0, 0)),
            ("seize", 101, (0x4206, who, 0, 0)),
            ("process_vm_readv", 310, (who, mine, 1, (ctypes.c_void_p * 2)(0x400000, 64), 1, 0)),
            ("process_vm_writev", 311, (who, mine, 1, (ctypes.c_void_p * 2)(0x400000, 64), 1, 0)),
            ("kcmp", 312, (who, os.getpid(), 1, 0, 0)),
            ("prlimit", 302, (who, 7, None, page)),
            ("setpriority", 141, (0, who, 10)),
            ("sched_setaffinity", 203, (who, 8, page)),
            ("ioprio_set", 251, (1, who, 0)),
            ("move_pages", 279, (who, 0, None, None, None, 0)),
        ):
            if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
                print("ESCAPE", name, who)
        for file in ("mem", "maps", "environ", "cmdline", "fd", "cwd/.", "root/.", "exe", "status", "stack", "auxv"):
            path = f"/proc/{who}/{file}"
            try:
                os.close(os.open(path, os.O_RDONLY))
                print("ESCAPE", path)
            except OSError:
                continue
    if libc.syscall(ctypes.c_long(101), 0, 0, 0, 0) == 0:
        print("ESCAPE traced by its parent")
    return a + b
