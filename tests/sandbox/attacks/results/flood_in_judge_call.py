# mode: tests
# expect: output_limit
def add(a, b):
    for _ in range(640):
        print("z" * 65536)
    return a + b
