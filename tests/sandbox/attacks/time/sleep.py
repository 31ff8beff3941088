# expect: timeout
# limits: sleep
# note: uses no CPU time at all: only the clock can end it
import time


def add(a, b):
    time.sleep(10_000)
    return a + b
