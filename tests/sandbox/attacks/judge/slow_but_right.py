# mode: tests
# expect: pass
# passed: 2
import time


def add(a, b):
    time.sleep(0.02)
    print("adding")
    return a + b
