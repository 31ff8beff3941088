# expect: pass
import os
import stat


def add(a, b):
    for name, number in (("null", (1, 3)), ("mem", (1, 1)), ("disk", (254, 0)), ("tty", (5, 0))):
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            try:
                os.mknod(f"/tmp/{name}{kind}", kind | 0o666, os.makedev(*number))
                os.close(os.open(f"/tmp/{name}{kind}", os.O_RDWR))
                print("ESCAPE device", name)
            except OSError:
                continue
    for path in ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"):
        for act in (lambda: os.utime(path), lambda: os.chmod(path, 0o600), lambda: os.unlink(path)):
            try:
                act()
                print("ESCAPE changed", path)
            except OSError:
                continue
    return a + b
