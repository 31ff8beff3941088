# expect: output_limit fail memory
# passed: 0
def add(a, b):
    return [0] * (1 << 23)
