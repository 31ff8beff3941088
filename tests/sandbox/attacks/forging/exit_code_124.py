# expect: exited_early error
# passed: 0
import os


def add(a, b):
    os._exit(124)
