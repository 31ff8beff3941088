# expect: fail
# passed: 0
def add(a, b):
    return a - b
