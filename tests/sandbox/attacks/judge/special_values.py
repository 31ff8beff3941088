# mode: tests
# expect: unsupported_value
# passed: 0
# note: `assert candidate(1, 2)` holds for this one, as for most objects
def add(a, b):
    return NotImplemented


# --- tests ---
def check(candidate):
    assert candidate(1, 2)
