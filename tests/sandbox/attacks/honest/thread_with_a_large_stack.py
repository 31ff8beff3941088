# expect: pass
# note: as contest programs do, for deep recursion
import sys
import threading

sys.setrecursionlimit(1_000_000)
threading.stack_size(64 << 20)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


def add(a, b):
    found = []
    one = threading.Thread(target=lambda: found.append(depth(50_000)))
    one.start()
    one.join()
    return found[0] - 50_000 + a + b
