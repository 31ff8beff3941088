# expect: pass
import os


def add(a, b):
    count = 0
    try:
        while count < 10_000:
            os.dup(0)
            count += 1
    except OSError as error:
        print(error)
    if count > 1000:
        print("ESCAPE", count, "descriptors")
    return a + b
