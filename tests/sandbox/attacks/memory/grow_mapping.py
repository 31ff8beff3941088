# expect: memory error crash
import mmap


def add(a, b):
    one = mmap.mmap(-1, 1 << 20)
    for power in range(21, 36):
        one.resize(1 << power)
        one[(1 << power) - 1] = 1
    print("ESCAPE", len(one))
    return a + b
