# expect: output_limit
# passed: 0
import os


def add(a, b):
    while True:
        os.write(4, b"z" * 65536)
