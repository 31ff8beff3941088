# expect: fail protocol_error
# note: a thread that goes on after the answers and hopes to be asked again
import os
import threading


def late():
    while True:
        for number in range(3, 8):
            try:
                os.write(number, b'\x0a\0\0\0[0,"ok",3]')
            except OSError:
                continue


def add(a, b):
    threading.Thread(target=late, daemon=True).start()
    return 0
