# expect: error
# passed: 0
def add(a, b):
    raise StopIteration(3)
