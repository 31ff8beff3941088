# mode: tests
# expect: protocol_error
# passed: 0
import os
import struct

SAID = iter(
    [b'[1,"ok",-1,3]', b'[1,"ok"]', b'[1,"ok",99,3]', b'[1,"ok",true,3]', b'[1,"ok",0,3]', b'[1,"pass"]', b"[1]"]
)


def add(a, b):
    said = next(SAID)
    os.write(4, struct.pack("=I", len(said)) + said)
