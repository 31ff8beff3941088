# expect: memory error
def add(a, b):
    return len(eval("'ab' * (1 << 33)")) + a + b
