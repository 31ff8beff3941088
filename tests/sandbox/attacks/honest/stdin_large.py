# mode: stdio
# expect: pass
# stdin: "1 " * 500_000
# expected: "500000\n"
import sys

print(sum(map(int, sys.stdin.buffer.read().split())))
