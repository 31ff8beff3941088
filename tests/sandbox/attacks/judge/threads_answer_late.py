# mode: tests
# expect: fail protocol_error
# passed: 0
import os
import struct
import threading
import time


def late():
    time.sleep(0.01)
    for number in range(1, 5):
        said = f'[{number},"ok",1,true]'.encode()
        os.write(4, struct.pack("=I", len(said)) + said)


def add(a, b):
    threading.Thread(target=late, daemon=True).start()
    return None
