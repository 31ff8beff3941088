# expect: error
# passed: 0
def subtract(a, b):
    return a - b
