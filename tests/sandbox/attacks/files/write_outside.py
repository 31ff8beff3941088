# expect: pass
import os


def add(a, b):
    places = [
        *("@STAGES@".split(":")),
        *("/", "/etc", "/root", "/home", "/var/tmp", "/usr/lib", "/usr/local/lib", "/dev"),
        *("/dev/shm", "/run", "..", "../..", "@STDLIB@", "@REPOSITORY@", "@PACKAGE@", "@PACKAGE@/child", "@HOME@"),
    ]
    for place in places:
        for act in (
            lambda path: open(path, "w").close(),
            lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)),
            os.mkdir,
            os.mkfifo,
            lambda path: os.symlink("x", path),
            lambda path: os.link(os.__file__, path),
            lambda path: os.rename(os.__file__, path),
            lambda path: os.mknod(path),
        ):
            path = f"{place}/pwned"
            try:
                act(path)
                if not os.path.realpath(place).startswith(("/tmp", "/dev/shm")) or os.path.realpath(place) == "/tmp":
                    print("wrote", os.path.realpath(path))
                if os.path.realpath(place) != "/tmp":
                    print("ESCAPE wrote", path)
            except OSError:
                continue
    return a + b
