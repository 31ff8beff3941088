# expect: fail
# passed: 0
def add(a, b):
    yield a + b
