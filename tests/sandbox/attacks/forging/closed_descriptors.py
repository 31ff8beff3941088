# expect: exited_early error
# passed: 0
import os


def add(a, b):
    os.closerange(0, 64)
    return a + b
