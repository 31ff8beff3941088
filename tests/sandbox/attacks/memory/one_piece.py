# expect: memory
def add(a, b):
    kept = bytearray(8 << 30)
    print("ESCAPE", len(kept))
    return a + b
