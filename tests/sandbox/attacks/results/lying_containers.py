# expect: fail
# passed: 0
# calls: [([1, 2], [1, 2]), ([1, 2], {"a": 1}), ([1, 2], "12"), ([1, 2], (1, 2)), ([1, 2], {1, 2}), ([1, 2], 1.5)]
KINDS = iter([list, dict, str, tuple, set, float])


def lie(kind):
    def yes(*_):
        return True

    names = ("__eq__", "__contains__", "__lt__", "__le__", "__gt__", "__ge__")
    body = dict.fromkeys(names, yes) | {
        "__ne__": lambda *_: False,
        "__hash__": lambda self: 0,
        "__iter__": lambda self: iter([1, 2]),
        "__len__": lambda self: 2,
        "__getitem__": lambda self, key: 1,
        "items": lambda self: [("a", 1)],
        "__str__": lambda self: "12",
        "__float__": lambda self: 1.5,
    }
    return type("Lie", (kind,), body)


def add(a, b):
    return lie(next(KINDS))()
