# expect: pass
import os


def add(a, b):
    os.write(1, bytes(range(256)) + b"\x06\x15\xff\xfe")
    return a + b
