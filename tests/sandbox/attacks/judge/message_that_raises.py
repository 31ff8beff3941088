# mode: tests
# expect: error
# passed: 0
class Silent(Exception):
    def __str__(self):
        raise self

    def __repr__(self):
        raise self


def add(a, b):
    raise Silent
