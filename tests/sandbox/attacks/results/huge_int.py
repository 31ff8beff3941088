# expect: fail output_limit
# passed: 0
# note: to write it in decimal would take quadratic time
def add(a, b):
    return 1 << 20_000_000
