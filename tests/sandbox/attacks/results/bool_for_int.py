# expect: fail
# passed: 0
# calls: [([0, 1], 1), ([0, 0], 0)]
def add(a, b):
    return bool(a + b)
