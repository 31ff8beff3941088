# expect: pass error
# expect landlock: error
# twice: yes
# note: what one program leaves in /tmp must be gone for the next
import os

found = [name for folder in ("/tmp", ".") for name in os.listdir(folder)]
if found:
    print("ESCAPE found", found)


def add(a, b):
    with open("/tmp/left", "w") as file:
        file.write("x")
    open("/tmp/sitecustomize.py", "w").close()
    return a + b
