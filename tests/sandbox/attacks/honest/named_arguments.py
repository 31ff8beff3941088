# expect: pass
# calls: [({"a": 1, "b": 2}, 3), ([1], 6), ([], 10)]
def add(a=5, b=5):
    return a + b
