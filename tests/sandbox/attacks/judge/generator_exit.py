# mode: tests
# expect: error fail
# passed: 0
def add(a, b):
    raise GeneratorExit if a == 1 else KeyboardInterrupt
