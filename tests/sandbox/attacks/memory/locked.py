# expect: pass
# needs: x86_64
import ctypes
import mmap


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    one = mmap.mmap(-1, 1 << 20)
    address = ctypes.addressof(ctypes.c_char.from_buffer(one))
    for name, number, arguments in (
        ("mlock", 149, (address, 1 << 20)),
        ("mlockall", 151, (3,)),
        ("memfd_secret", 447, (0,)),
    ):
        if libc.syscall(number, *(ctypes.c_long(x) for x in arguments)) >= 0:
            print("ESCAPE", name)
    return a + b
