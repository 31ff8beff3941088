# expect: pass
# calls: [([[1], [2]], [1, 2]), ([(1,), (2, "x")], (1, 2, "x")), ([{"a": {1}}, {"b": (None, True)}], {"b": (None, True), "a": {1}})]
def add(a, b):
    return {**a, **b} if isinstance(a, dict) else a + b
