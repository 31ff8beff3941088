# expect: fail
# calls: [([1, 2], 3)]
# passed: 0
# note: ints with the same hash make a set or dict that is built of them quadratic
MODULUS = (1 << 61) - 1


def add(a, b):
    return [i * MODULUS for i in range(100_000)]
