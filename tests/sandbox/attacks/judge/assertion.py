# mode: tests
# expect: fail
# passed: 0
def add(a, b):
    raise AssertionError("this is the tests' own")
