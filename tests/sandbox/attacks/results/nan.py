# expect: fail
# passed: 0
# calls: [([1, 2], 3.0), ([1, 2], float("inf"))]
def add(a, b):
    return float("nan")
