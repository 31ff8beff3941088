# mode: stdio
# expect: fail
# expected: "@SECRET@\n"
import os
import re

data = b""
for number in range(64):
    try:
        os.set_blocking(number, False)
        data += os.read(number, 1 << 16)
    except OSError:
        continue
found = re.search(b"7734" + rb"0\d{14}", data)
print(found[0].decode() if found else "not found")
if found:
    print("ESCAPE secret")
