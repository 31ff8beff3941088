# expect: pass
# note: running out of memory inside is the program's own affair
def add(a, b):
    kept = []
    try:
        while True:
            kept.append(b"z" * (16 << 20) + bytes(len(kept)))
    except MemoryError:
        kept.clear()
    return a + b
