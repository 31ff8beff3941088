# expect: pass
# needs: x86_64
import ctypes


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    for bits in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x4000000, 0x8000000, 0x2000000, 0x80, 0x10020000, 0x200):
        if libc.unshare(bits) == 0:
            print("ESCAPE unshare", hex(bits))
    for number in range(10):
        if libc.setns(number, 0) == 0:
            print("ESCAPE setns", number)
    return a + b
