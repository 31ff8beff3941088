# mode: tests
# expect: error fail
# passed: 0
# note: StopIteration out of a function that map() calls reads as "no more", and all() of nothing is true
def add(a, b):
    raise StopIteration


# --- tests ---
CASES = [(1, 2, 3), (3, 4, 7)]


def check(candidate):
    assert all(map(lambda case: candidate(*case[:2]) == case[2], CASES))
