# expect: pass
# calls: [([D("0.1"), D("0.2")], D("0.3")), ([F(1, 3), F(1, 6)], F(1, 2)), ([1j, 2], 2 + 1j)]
def add(a, b):
    return a + b
