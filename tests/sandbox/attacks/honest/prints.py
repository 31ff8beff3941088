# expect: pass
# stdout: "1 + 2\n3 + 4\n"
def add(a, b):
    print(a, "+", b)
    return a + b
