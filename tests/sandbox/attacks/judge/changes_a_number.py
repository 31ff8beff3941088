# mode: tests
# expect: protocol_error
# passed: 0
import os
import struct


def add(a, b):
    said = b'[1,"ok",1,4,0,1,4]'
    os.write(4, struct.pack("=I", len(said)) + said)
