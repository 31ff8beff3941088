# expect: pass
import os
import sys


def add(a, b):
    for path in (sys.executable, "/bin/sh", "/usr/bin/env", "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2"):
        try:
            os.execve(path, [path, "-c", "echo ESCAPE exec"], {})
        except OSError as error:
            print(path, error.errno)
    try:
        number = os.open("/usr/bin/env", os.O_RDONLY)
        os.execve(number, ["env"], {})
    except OSError as error:
        print(error)
    return a + b
