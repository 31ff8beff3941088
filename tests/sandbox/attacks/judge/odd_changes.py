# mode: tests
# expect: protocol_error error
# passed: 0
# note: says that it changed what it was not given
import os
import struct


def add(a, b):
    said = b'[1,"ok",1,3,7,1,3]'
    os.write(4, struct.pack("=I", len(said)) + said)
