# expect: output_limit
# passed: 0
# note: right answers, and more than may be printed
import os


def add(a, b):
    for _ in range(64):
        os.write(1, b"z" * 65536)
    return a + b
