# mode: tests
# expect: protocol_error fail
# passed: 0
import os
import struct

for number in range(4):
    data = f'[{number},"ok",1,"?x"]'.encode()
    os.write(4, struct.pack("=I", len(data)) + data)


def add(a, b):
    return None
