# mode: tests
# expect: pass
# passed: 2
def add(a, b):
    return a + b
