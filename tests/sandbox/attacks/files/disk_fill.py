# expect: pass error memory
# gate: disk
import os
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def fill(folder):
    size = 0
    for number in range(200):
        try:
            with open(f"{folder}/fill{number}", "wb", buffering=0) as file:
                while size < 256 << 20:
                    got = file.write(b"z" * (1 << 20))
                    size += got
                    if got < 1 << 20:
                        break
        except OSError:
            if size == 0:
                break
        if size >= 256 << 20:
            print("ESCAPE filled", folder, size >> 20, "MiB")
            break


def add(a, b):
    for folder in (".", "/tmp", "/dev/shm", "/var/tmp", "/run", "/mnt", "@STAGE@"):
        fill(folder)
    return a + b
