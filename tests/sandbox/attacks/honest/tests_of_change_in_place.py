# mode: tests
# expect: pass
def add(items, more):
    items.sort()
    items.extend(more)
    more.clear()


# --- tests ---
def check(candidate):
    items, more = [3, 1, 2], [9]
    assert candidate(items, more) is None
    assert items == [1, 2, 3, 9]
    assert more == []
