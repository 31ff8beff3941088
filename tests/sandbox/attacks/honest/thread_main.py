# mode: stdio
# expect: pass
import sys
import threading


def main():
    a, b = map(int, input().split())
    print(a + b)


sys.setrecursionlimit(1 << 25)
threading.stack_size(1 << 26)
threading.Thread(target=main).start()
