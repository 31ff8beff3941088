# expect: pass
# calls: [([0.1, 0.2], 0.3), ([1e308, 1e308], float("inf")), ([1, 2], 3.0), ([float("nan"), 1.0], float("nan"))]
def add(a, b):
    return a + b
