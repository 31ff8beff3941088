# expect: pass
# calls: [([1, 2], 3), ([1, 2], [1, 2]), ([1, 2], {"a": 1}), ([1, 2], (1, 2))]
import enum
from collections import OrderedDict, namedtuple


class Colour(enum.IntEnum):
    RED = 3


class Items(list):
    def __iter__(self):
        while True:
            yield 0


KINDS = iter([Colour.RED, Items([1, 2]), OrderedDict(a=1), namedtuple("Pair", "x y")(1, 2)])


def add(a, b):
    return next(KINDS)
