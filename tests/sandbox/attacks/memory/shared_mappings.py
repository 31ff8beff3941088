# expect: memory error
# calls: [([1, 2], 3)]
# note: memory that belongs to no process's heap
import mmap


def add(a, b):
    kept = []
    for _ in range(1024):
        one = mmap.mmap(-1, 8 << 20)
        one.write(b"z" * (8 << 20))
        kept.append(one)
    print("ESCAPE", 8 * len(kept), "MiB shared")
    return a + b
