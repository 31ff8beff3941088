# expect: fail
# passed: 0
# calls: [([[1, 2], [9]], [1, 2]), ([{"a": 1}, [9]], {"a": 1})]
# note: arguments are the program's own copies
def add(a, b):
    a.clear()
    return b
