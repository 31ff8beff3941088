# expect: pass
# danger: processes
import os


def add(a, b):
    for who in (-1, 0):
        try:
            os.kill(who, 9)
            print("ESCAPE kill", who, flush=True)
        except OSError as error:
            print(who, error.errno)
    return a + b
