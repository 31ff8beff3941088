# expect: exited_early
# passed: 0
import os


def add(a, b):
    os._exit(0)
