# expect: fail
# secret: yes
import os
import re

MARK = re.compile((b"7734" + b"0") + rb"\d{14}")


def add(a, b):
    for who in {os.getppid(), 1, int("@VICTIM@"), int("@RUNNER@")} - {os.getpid(), 0}:
        try:
            with open(f"/proc/{who}/maps") as maps, open(f"/proc/{who}/mem", "rb", 0) as memory:
                for line in maps:
                    first, last, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
                    if "r" not in rights:
                        continue
                    memory.seek(int(first, 16))
                    found = MARK.search(memory.read(int(last, 16) - int(first, 16)))
                    if found:
                        print("ESCAPE secret in", who)
                        return int(found[0])
        except OSError as error:
            print(who, error.errno)
    return a + b
