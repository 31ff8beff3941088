# expect: fail
# passed: 0
# secret: yes
# note: what the worker left in memory that a child inherits, read address by address
import ctypes
import re
import sys

MARK = re.compile((b"7734" + b"0") + rb"\d{14}")


def add(a, b):
    try:
        with open("/proc/self/maps"):
            print("ESCAPE map of its own memory")
    except OSError as error:
        print(error)
    here = id(sys) & ~0xFFFFF
    text = b""
    try:
        text = ctypes.string_at(id(add) & ~0xFFF, 4096)
    except OSError:
        pass
    found = MARK.search(text)
    print(hex(here), bool(found))
    return int(found[0]) if found else None
