# expect: fail
# calls: [([1, 2], 3)]
# passed: 0
def add(a, b):
    nested = []
    for _ in range(300_000):
        nested = [nested]
    return nested
