# expect: pass
import ctypes


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    page = ctypes.create_string_buffer(4096)
    names = {0x5401: "TCGETS", 0x5413: "TIOCGWINSZ", 0x541B: "FIONREAD", 0x5421: "FIONBIO", 0x5450: "", 0x5451: ""}
    for file in ("/dev/null", "/dev/urandom", "/dev/zero"):
        try:
            number = open(file, "rb").fileno()
        except OSError:
            continue
        for request in (0x5412, 0x5423, 0x540E, 0x5203, 0x40045201, 0x5204, 0x5206, 0x5207, 0xC0045878, 0x40049409):
            if request not in names and libc.ioctl(0, ctypes.c_ulong(request), page) >= 0:
                print("ESCAPE ioctl", hex(request))
    for high in (1 << 32, 1 << 40):
        for request in (0x5412, 0x5452):
            if libc.syscall(16, 0, ctypes.c_ulong(high | request), page) >= 0:
                print("ESCAPE ioctl with high bits", hex(request))
    return a + b
