# expect: pass
# danger: processes
import os
import time


def add(a, b):
    count = 0
    for _ in range(200):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            time.sleep(2)
            os._exit(0)
        count += 1
    if count:
        print("ESCAPE", count, "children")
    return a + b
