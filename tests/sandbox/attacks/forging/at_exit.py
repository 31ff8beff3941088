# expect: exited_early fail
# passed: 0
import atexit
import os
import struct


def last():
    for index, guess in ((0, "pass"), (1, "pass")):
        data = f'[{index},"{guess}",true]'.encode()
        os.write(4, struct.pack("=I", len(data)) + data)
    os._exit(0)


atexit.register(last)


def add(a, b):
    return None
