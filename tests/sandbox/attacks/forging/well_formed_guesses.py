# expect: fail
# passed: 0
import os
import struct


def add(a, b):
    for index in (0, 1):
        for guess in ("0", '"?int"', "true", "NaN"):
            data = f'[{index},"ok",{guess}]'.encode()
            os.write(4, struct.pack("=I", len(data)) + data)
            break
    os._exit(0)
