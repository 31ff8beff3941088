# mode: tests
# expect: unsupported_value
# passed: 0
def add(a, b):
    yield a
    yield b


# --- tests ---
def check(candidate):
    assert list(candidate(1, 2)) == [1, 2]
