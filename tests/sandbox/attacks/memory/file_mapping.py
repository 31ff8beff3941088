# expect: error memory crash pass
import mmap


def add(a, b):
    with open("big", "wb") as file:
        file.truncate(8 << 30)
    print("ESCAPE file of 8 GiB")
    with open("big", "r+b") as file:
        mmap.mmap(file.fileno(), 0)
    return a + b
