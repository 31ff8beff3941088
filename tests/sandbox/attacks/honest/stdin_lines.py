# mode: stdio
# expect: pass
# stdin: "3\n1 2\n3 4\n5 6\n"
# expected: "3\n7\n11\n"
import sys

n = int(sys.stdin.readline())
for line in sys.stdin:
    print(sum(map(int, line.split())))
