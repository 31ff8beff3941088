# expect: exited_early
# passed: 0
import os


def add(a, b):
    os.write(4, b"\xff\xff\xff\x7f" + b'[0,"ok",3]')
    os._exit(0)
