# expect: pass
# expect landlock: error
import os
import shutil
import tempfile


def add(a, b):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.txt")
        with open(path, "w") as file:
            file.write(f"{a}\n{b}\n")
        shutil.copy2(path, path + ".copy")
        os.replace(path + ".copy", path + ".moved")
        with open(path + ".moved") as file:
            total = sum(map(int, file))
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write(str(total))
        file.seek(0)
        return int(file.read())
