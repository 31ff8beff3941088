# mode: tests
# expect: pass
# passed: 3
def add(a, b):
    if isinstance(a, str):
        raise TypeError(a)
    return a + b


# --- tests ---
assert add(1, 2) == 3
assert add(3, 4) == 7
assert add([1], [2]) == [1, 2]
