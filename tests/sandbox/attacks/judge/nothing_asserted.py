# mode: tests
# expect: fail
# passed: 0
# note: tests in which nothing happens must not be passed
def add(a, b):
    return []


# --- tests ---
def check(candidate):
    for one in candidate(1, 2):
        assert one == 3
