# mode: tests
# expect: error
# passed: 0
NAMES = iter(
    "UnicodeDecodeError UnicodeEncodeError UnicodeTranslateError OSError ImportError ExceptionGroup SyntaxError".split()
)


def add(a, b):
    name = next(NAMES)
    raise type(name, (Exception,), {})("x")


# --- tests ---
def check(candidate):
    for _ in range(7):
        assert candidate(1, 2) == 3
