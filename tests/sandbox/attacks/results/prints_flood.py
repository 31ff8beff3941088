# expect: output_limit
# passed: 0
def add(a, b):
    while True:
        print("z" * 4000)
