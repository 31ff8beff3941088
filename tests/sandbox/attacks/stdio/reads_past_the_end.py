# mode: stdio
# expect: pass
import sys

numbers = sys.stdin.readline().split()
sys.stdin.read()
sys.stdin.read()
print(sum(map(int, numbers)))
