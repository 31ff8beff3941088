# expect: fail error
# passed: 0
class Pretender:
    @property
    def __class__(self):
        return int

    def __int__(self):
        return 3

    def __eq__(self, other):
        return True

    def item(self):
        return 3

    def tolist(self):
        return 3


def add(a, b):
    return Pretender()
