# expect: memory
def add(a, b):
    kept = []
    for _ in range(8192):
        kept.append(bytearray(b"z" * (1 << 20)))
    print("ESCAPE", len(kept), "MiB")
    return a + b
