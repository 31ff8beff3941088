# expect: fail timeout
# passed: 0
# calls: [([1, 2], {1, 2, 3}), ([1, 2], {1: 2})]
# limits: spin
MODULUS = (1 << 61) - 1


def add(a, b):
    return frozenset(i * MODULUS for i in range(3000)) if a else None
