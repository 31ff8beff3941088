# expect: fail
# passed: 0
# note: equal by ==, but another type than the expected one
def add(a, b):
    return float(a + b)
