# expect: timeout
# limits: spin
# note: the name of an answer's type is asked for, in the program's own process
class Meta(type):
    @property
    def __name__(cls):
        while True:
            pass


class Thing(metaclass=Meta):
    pass


def add(a, b):
    return Thing()
