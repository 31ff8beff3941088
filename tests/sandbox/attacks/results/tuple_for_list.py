# expect: fail
# passed: 0
# calls: [([1, 2], [1, 2])]
def add(a, b):
    return a, b
