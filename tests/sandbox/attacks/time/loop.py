# expect: timeout
# limits: spin
def add(a, b):
    while True:
        a += 1
