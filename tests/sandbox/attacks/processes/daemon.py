# expect: pass
import os
import time


def add(a, b):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
        print("ESCAPE daemon")
    except OSError as error:
        print(error)
    return a + b
