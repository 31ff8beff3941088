# expect: protocol_error fail
# passed: 0
# note: long numbers in decimal take quadratic time to read
import os
import struct


def add(a, b):
    for index, said in ((0, b"9" * 7_000), (1, b"0." + b"3" * 3_000_000 + b"e-5")):
        said = b'[%d,"ok",' % index + said + b"]"
        data = memoryview(struct.pack("=I", len(said)) + said)
        while data:
            data = data[os.write(4, data) :]
    os._exit(0)
