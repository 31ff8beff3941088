# mode: stdio
# expect: pass
a, b = map(int, input().split())
print(a + b)
