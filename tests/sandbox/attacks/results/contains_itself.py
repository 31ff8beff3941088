# expect: fail
# passed: 0
def add(a, b):
    loop = {"a": []}
    loop["a"].append(loop)
    return loop
