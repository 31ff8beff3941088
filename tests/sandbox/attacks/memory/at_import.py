# expect: memory
kept = [0] * (1 << 31)
print("ESCAPE", len(kept))


def add(a, b):
    return a + b
