# expect: pass
# note: ways to a file that do not look like opening it
import os


def add(a, b):
    for path in ("@STAGE@/secret.txt", "/etc/passwd", "@PACKAGE@/sandbox.py"):
        try:
            number = os.open(path, os.O_PATH)
        except OSError:
            continue
        for way in (f"/proc/self/fd/{number}", f"/dev/fd/{number}"):
            try:
                with open(way) as file:
                    print("ESCAPE", file.read(20))
            except OSError:
                continue
        try:
            print("ESCAPE", os.read(number, 20))
        except OSError:
            pass
        try:
            os.sendfile(1, number, 0, 20)
            print("ESCAPE sendfile")
        except OSError:
            pass
    for stage in "@STAGES@".split(":"):
        try:
            print("ESCAPE", os.listxattr(f"{stage}/secret.txt"), os.getxattr(f"{stage}/secret.txt", "user.secret"))
        except OSError as error:
            print(error)
    try:
        os.readlink("/proc/@RUNNER@/cwd")
        print("ESCAPE a link of /proc")
    except OSError as error:
        print(error)
    return a + b
