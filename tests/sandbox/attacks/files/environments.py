# expect: pass
import os


def add(a, b):
    text = repr(dict(os.environ)).encode()
    for who in ("self", "thread-self", os.getppid(), 1, "@VICTIM@", "@RUNNER@"):
        for name in ("environ", "cmdline", "task/1/environ"):
            try:
                with open(f"/proc/{who}/{name}", "rb") as file:
                    text += file.read()
            except OSError:
                continue
    for mark in (b"GROUPWISE_TEST", b"7734" + b"0", b"TOKEN", b"KEY=", b"SSH", b"@STAGE@", b"PYTEST"):
        if mark in text:
            print("ESCAPE", mark, "in an environment")
    return a + b
