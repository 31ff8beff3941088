# expect: pass
# note: a pipe's pages count for no process; open files bound them
import fcntl
import os


def add(a, b):
    size = 0
    try:
        for _ in range(4000):
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            try:
                fcntl.fcntl(writing, 1031, 1 << 20)
                print("ESCAPE larger pipe")
            except OSError:
                pass
            try:
                while True:
                    size += os.write(writing, b"z" * 65536)
            except BlockingIOError:
                continue
    except OSError as error:
        print(error)
    if size > 32 << 20:
        print("ESCAPE", size, "bytes in pipes")
    return a + b
