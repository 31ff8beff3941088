# mode: tests
# expect: fail memory output_limit
# passed: 0
def add(a, b):
    return ["x" * 1000] * 5000
