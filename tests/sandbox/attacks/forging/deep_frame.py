# expect: protocol_error
# passed: 0
import os
import struct


def add(a, b):
    said = b"[" * 2_000_000
    data = memoryview(struct.pack("=I", len(said)) + said)
    while data:
        data = data[os.write(4, data) :]
    os._exit(0)
