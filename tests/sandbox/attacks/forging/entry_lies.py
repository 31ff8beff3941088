# expect: fail
# passed: 0
class Module:
    def __getattr__(self, name):
        return lambda *_: True


import sys

sys.modules[__name__] = Module()


def __getattr__(name):
    return lambda *_: True


class Everything:
    def __call__(self, *_):
        return self

    def __eq__(self, other):
        return True


add = Everything()
