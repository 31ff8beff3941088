# expect: crash
# needs: x86_64
# note: the 32-bit entry, where numbers mean other calls
import ctypes
import mmap


def add(a, b):
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, getpid; int 0x80; ret
    print("ESCAPE", ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))(), flush=True)
    return a + b
