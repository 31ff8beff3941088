# expect: pass
# note: what descriptors lead to: nothing but pipes and /dev/null
import os
import stat


def add(a, b):
    for number in range(3, 4096):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if not stat.S_ISFIFO(mode):
            print("ESCAPE descriptor", number, oct(mode))
    for number in range(3):
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            print("ESCAPE descriptor", number, oct(mode))
    return a + b
