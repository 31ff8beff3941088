# expect: error
# passed: 0
def add(a, b):
    raise (KeyboardInterrupt if a == 1 else GeneratorExit)
