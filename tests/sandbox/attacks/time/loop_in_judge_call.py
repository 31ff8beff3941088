# mode: tests
# expect: timeout
# limits: spin
def add(a, b):
    while True:
        pass
