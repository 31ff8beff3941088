# expect: fail
# passed: 0
# secret: yes
import os
import re


def add(a, b):
    found = b""
    for number in range(64):
        try:
            os.set_blocking(number, False)
            found += os.read(number, 1 << 16)
        except OSError:
            continue
    if re.search(b"7734" + rb"0\d{14}", found):
        print("ESCAPE secret in a descriptor")
    return None
