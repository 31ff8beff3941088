# expect: exited_early error fail
# passed: 0
import os


def add(a, b):
    os.dup2(1, 4)
    return a + b
