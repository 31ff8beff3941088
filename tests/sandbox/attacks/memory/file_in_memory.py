# expect: pass
# note: a memfd's pages count for no process; the limit on address space does not see them
import os


def add(a, b):
    try:
        number = os.memfd_create("m")
        size = 0
        while size < 1 << 30:
            size += os.write(number, b"z" * (1 << 20))
        print("ESCAPE", size, "bytes in a memfd")
    except OSError as error:
        print(error)
    return a + b
