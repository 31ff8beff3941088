# expect: output_limit fail memory
# calls: [([1, 2], 3)]
# passed: 0
def add(a, b):
    return "x" * (100 << 20)
