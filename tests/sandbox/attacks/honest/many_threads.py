# expect: pass
# limits: default
# note: threads that only wait: they must not use the address space up
import time
from concurrent.futures import ThreadPoolExecutor


def wait(x):
    time.sleep(0.02)
    return x


def add(a, b):
    with ThreadPoolExecutor(36) as pool:
        return sum(pool.map(wait, [a, b, *([0] * 70)]))
