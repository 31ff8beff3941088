# expect: fail
# passed: 0
def add(a, b):
    return str(a + b)
