# expect: exited_early
# passed: 0
import sys


def add(a, b):
    sys.exit(0)
