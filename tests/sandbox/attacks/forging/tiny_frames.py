# expect: protocol_error
# passed: 0
# note: a parser that is quadratic in the number of frames would hold the trainer
import os


def add(a, b):
    data = b"\0\0\0\0" * 16384
    for _ in range(100):
        os.write(4, data)
    os._exit(0)
