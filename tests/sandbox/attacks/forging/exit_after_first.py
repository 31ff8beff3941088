# expect: exited_early
# passed: 1
import os


def add(a, b):
    if a == 3:
        os._exit(0)
    return a + b
