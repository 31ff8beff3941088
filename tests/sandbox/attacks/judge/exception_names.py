# mode: tests
# expect: error
# passed: 0
# note: names that mean something to the judge, or to nobody
NAMES = iter(
    ["Stop", "_BadTests", "Closed", "Broken", "SystemExit", "print", "__import__", "", "\0", "x" * 100_000, "True"]
)


def add(a, b):
    raise type(next(NAMES), (Exception,), {})


# --- tests ---
def check(candidate):
    for _ in range(11):
        assert candidate(1, 2) == 3
