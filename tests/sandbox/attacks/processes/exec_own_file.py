# expect: pass error
# note: a program written to /tmp and started
import os


def add(a, b):
    with open("tool", "w") as file:
        file.write("#!/bin/sh\necho ESCAPE\n")
    os.chmod("tool", 0o755)
    for path in ("./tool", "/tmp/tool"):
        try:
            os.execv(path, ["tool"])
        except OSError as error:
            print(error)
    return a + b
