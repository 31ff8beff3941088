# mode: tests
# expect: error
# passed: 0
def add(a, b):
    raise ValueError("m" * 50_000_000)
