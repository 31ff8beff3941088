# expect: pass
import sys

sys.setrecursionlimit(1_000_000)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


def add(a, b):
    return depth(60_000) - 60_000 + a + b
