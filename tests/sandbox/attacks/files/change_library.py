# expect: pass
# note: the standard library, and the worker's own code, as the next program would load them
import json
import os
import sys


def add(a, b):
    files = [os.__file__, json.__file__, "@PACKAGE@/child/values.py", "@PACKAGE@/child/runner.py", sys.executable]
    for path in files:
        for act in (
            lambda: open(path, "a").close(),
            lambda: open(path, "r+").close(),
            lambda: os.truncate(path, 0),
            lambda: os.unlink(path),
            lambda: os.rename(path, path + ".pwned"),
            lambda: os.chmod(path, 0o777),
            lambda: os.chown(path, os.getuid(), os.getgid()),
            lambda: os.utime(path),
            lambda: os.setxattr(path, "user.pwned", b"1"),
            lambda: os.replace("/tmp/x", path),
        ):
            try:
                act()
                print("ESCAPE changed", path)
            except OSError:
                continue
    try:
        os.mkdir(os.path.dirname(json.__file__) + "/__pycache__/pwned")
        print("ESCAPE cache folder")
    except OSError as error:
        print(error)
    return a + b
