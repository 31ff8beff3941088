# expect: error protocol_error fail exited_early
# passed: 0
import os
import struct


def add(a, b):
    for said in ('[-1,"sandbox_error","x"]', '[-1,"error","NotStarted","setup"]', "[-1]", '[-2,"ok",3]', '[9,"ok",3]'):
        os.write(4, struct.pack("=I", len(said)) + said.encode())
    os._exit(0)
