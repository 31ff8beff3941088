# mode: tests
# expect: fail
# passed: 0
# note: what the program changes is its own copy of what it was given, not the judge's expected values
def add(a, b):
    a.append(b)
    a[0] = 99
    return None


# --- tests ---
EXPECTED = [1, 2]


def check(candidate):
    assert candidate(list(EXPECTED), 3) == [1, 2, 3]
    assert candidate(tuple(EXPECTED), 3) == (1, 2, 3)
    assert EXPECTED != [1, 2]
