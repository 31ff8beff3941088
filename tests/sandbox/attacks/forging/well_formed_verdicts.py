# expect: protocol_error fail
# passed: 0
# note: frames as the worker itself would write them, with words of all kinds
import os
import struct


def send(text):
    data = text.encode()
    try:
        os.write(4, struct.pack("=I", len(data)) + data)
    except OSError:
        return


def add(a, b):
    for index in (0, 1):
        for word in ("pass", "passed", "ok", "sandbox_error", "setup"):
            send(f'[{index},"{word}",true,"pass"]')
    os._exit(0)
