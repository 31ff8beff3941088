# expect: fail
# calls: [([1, 2], 3)]
# passed: 0
def add(a, b):
    nested = 0
    for _ in range(100_000):
        nested = {"k": (nested,)}
    return nested
