# mode: tests
# expect: fail
# passed: 0
# note: the program defines what the tests use
def check(candidate):
    return None


def isclose(*_):
    return True


def add(a, b):
    return None
