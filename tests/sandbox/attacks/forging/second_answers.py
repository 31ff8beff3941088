# expect: fail
# passed: 0
# note: the first answer to each question counts
import os
import struct


def add(a, b):
    if a == 3:
        for index, guess in ((0, 3), (1, 7)):
            data = f'[{index},"ok",{guess}]'.encode()
            os.write(4, struct.pack("=I", len(data)) + data)
            return None
    return None
