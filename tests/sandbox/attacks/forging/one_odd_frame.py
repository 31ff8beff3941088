# expect: protocol_error
# passed: 0
# note: two values where one is awaited
import os
import struct


def add(a, b):
    for index, right in ((0, 3), (1, 7)):
        said = f'[{index},"ok",{right},{right}]'.encode()
        os.write(4, struct.pack("=I", len(said)) + said)
    os._exit(0)
