# expect: pass
# danger: processes
# needs: x86_64
import ctypes
import os


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    blank = ctypes.create_string_buffer(128)
    for who in {os.getppid(), int("@VICTIM@"), int("@RUNNER@")} - {os.getpid(), 0}:
        for name, number, arguments in (
            ("tkill", 200, (who, 0)),
            ("tgkill", 234, (who, who, 0)),
            ("rt_sigqueueinfo", 129, (who, 0, blank)),
            ("rt_tgsigqueueinfo", 297, (who, who, 0, blank)),
            ("pidfd_open", 434, (who, 0)),
        ):
            if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
                print("ESCAPE", name, who, flush=True)
    for number in range(64):
        if libc.syscall(ctypes.c_long(424), number, 9, None, 0) >= 0:
            print("ESCAPE pidfd_send_signal", number, flush=True)
    return a + b
