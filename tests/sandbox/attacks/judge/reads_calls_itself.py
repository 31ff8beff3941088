# mode: tests
# expect: protocol_error timeout fail exited_early unsupported_value
# passed: 0
# limits: sleep
# note: a thread takes the judge's calls before the worker does
import os
import struct
import threading


def answer(number, text):
    data = f'[{number},"ok",{text}]'.encode()
    os.write(4, struct.pack("=I", len(data)) + data)


def steal():
    number = 0
    while True:
        data = os.read(5, 1 << 16)
        number += 1
        answer(number, "1,true")
        if not data:
            return


threading.Thread(target=steal, daemon=True).start()


def add(a, b):
    return None
