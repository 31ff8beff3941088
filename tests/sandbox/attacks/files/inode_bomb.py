# expect: pass
# danger: disk
import os


def add(a, b):
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/dev"):
        for name, act in (
            ("folders", os.mkdir),
            ("links", lambda path: os.symlink("x" * 200, path)),
            ("hard links", lambda path: os.link(f"{folder}/folders-file", path)),
            ("files", lambda path: open(path, "w").close()),
        ):
            count = 0
            try:
                open(f"{folder}/folders-file", "w").close()
            except OSError:
                pass
            try:
                for number in range(5000):
                    act(f"{folder}/{name}{number}")
                    count += 1
            except OSError:
                pass
            if count > 2000:
                print("ESCAPE", count, name, "in", folder)
    return a + b
