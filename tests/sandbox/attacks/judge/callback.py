# mode: tests
# expect: unsupported_value
# passed: 0
def add(a, b):
    return b(a)


# --- tests ---
def check(candidate):
    assert candidate(1, lambda x: x + 2) == 3
