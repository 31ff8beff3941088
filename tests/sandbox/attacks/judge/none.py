# mode: tests
# expect: fail
# passed: 0
def add(a, b):
    return None
