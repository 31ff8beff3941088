# expect: pass crash error
import os
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def add(a, b):
    for act in (
        lambda number: os.posix_fallocate(number, 0, 128 << 20),
        lambda number: os.ftruncate(number, 1 << 40),
        lambda number: os.pwrite(number, b"z", 1 << 40),
    ):
        try:
            number = os.open("large", os.O_CREAT | os.O_RDWR)
            act(number)
            print("ESCAPE a file of", os.fstat(number).st_size)
        except OSError as error:
            print(error)
    return a + b
