# expect: fail output_limit
# calls: [([1, 2], 3)]
# passed: 0
# note: 40 objects that would be 2^40 when written out
def add(a, b):
    one = [0]
    for _ in range(40):
        one = [one, one]
    return one
