# expect: pass
# note: names of its own that are also the worker's
import sys

run = main = encode = json = os = values = wire = "mine"


def exec(*_):
    return None


print_ = print
sys.setswitchinterval(0.001)


def add(a, b):
    return a + b
