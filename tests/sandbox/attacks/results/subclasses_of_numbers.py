# expect: fail
# passed: 0
# note: each claims to be equal to all; what is in it is wrong
class Liar:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash(3)

    def __int__(self):
        return 3

    __index__ = __int__

    def __float__(self):
        return 3.0

    def __repr__(self):
        return "3"

    def __reduce__(self):
        return int, (3,)


class Number(Liar, int):
    pass


def add(a, b):
    return Number(12345)
