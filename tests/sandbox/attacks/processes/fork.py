# expect: pass
# gate: processes
import os


def add(a, b):
    try:
        child = os.fork()
        if child == 0:
            os._exit(0)
        print("ESCAPE forked", child)
    except OSError as error:
        print(error)
    return a + b
