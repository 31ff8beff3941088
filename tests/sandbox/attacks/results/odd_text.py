# expect: fail
# passed: 0
# calls: [([1, 2], "x"), ([1, 2], ["x"])]
def add(a, b):
    return ['"]}[{\\u0000\ud800\udfff\0\n', "", "?int", "l5", "i3", b"\xff\0", "\U0010ffff" * 1000]
