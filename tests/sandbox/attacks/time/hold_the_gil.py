# expect: timeout memory
# limits: spin
# note: one call in C during which no other Python code runs
def add(a, b):
    return len(str(3 ** (10**8)))
