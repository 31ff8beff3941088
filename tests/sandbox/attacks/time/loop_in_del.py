# expect: timeout
# limits: spin
class Clingy:
    def __del__(self):
        while True:
            pass


def add(a, b):
    Clingy()
    return a + b
