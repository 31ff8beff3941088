# expect: fail error
# passed: 0
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        print("asked for", name)
        return None


sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: Finder())
sys.path.insert(0, "/tmp")
for name in ("json", "struct", "os", "sys", "math", "numpy"):
    sys.modules[name] = type(sys)("fake")


def add(a, b):
    return None
