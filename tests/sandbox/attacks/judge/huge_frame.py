# mode: tests
# expect: protocol_error
# passed: 0
import os


def add(a, b):
    os.write(4, b"\xff\xff\xff\xff")
    while True:
        os.write(4, b"z" * 65536)
