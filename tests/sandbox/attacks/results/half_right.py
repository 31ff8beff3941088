# expect: fail
# passed: 1
def add(a, b):
    return 3
