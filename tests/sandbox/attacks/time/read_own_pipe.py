# expect: timeout
# limits: sleep
import os


def add(a, b):
    reading, writing = os.pipe()
    os.read(reading, 1)
    return a + b
