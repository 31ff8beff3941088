# expect: fail
# passed: 0
# note: the bytes by which a child tells its worker whether isolation worked
import os

os.write(1, b"\x15no isolation")
os.write(1, b"\x06")


def add(a, b):
    print("\x15sandbox_error")
    return None
