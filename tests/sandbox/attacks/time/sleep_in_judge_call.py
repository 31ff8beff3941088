# mode: tests
# expect: timeout
# limits: sleep
import time


def add(a, b):
    time.sleep(10_000)
    return a + b
