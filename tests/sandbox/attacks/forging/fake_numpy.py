# expect: fail error
# passed: 0
# note: a module of that name decides what counts as an array
import sys
import types


class Any(type):
    def __instancecheck__(cls, one):
        return True


class Array(metaclass=Any):
    pass


fake = types.ModuleType("numpy")
fake.ndarray = fake.generic = Array
sys.modules["numpy"] = fake


class Thing:
    def tolist(self):
        return 3.5

    def item(self):
        return 3.5


def add(a, b):
    return Thing()
