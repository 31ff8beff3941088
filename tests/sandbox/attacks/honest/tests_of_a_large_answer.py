# mode: tests
# expect: pass
def add(a, b):
    return {i: [str(i), i * 1.5, (i, None, True), {i}] for i in range(2000)}


# --- tests ---
def check(candidate):
    got = candidate(1, 2)
    assert len(got) == 2000
    assert got[7] == ["7", 10.5, (7, None, True), {7}]
