# mode: tests
# expect: exited_early
# passed: 0
# note: tests that catch all must not catch the end of the program
import os


def add(a, b):
    os._exit(0)


# --- tests ---
def check(candidate):
    for _ in range(3):
        try:
            assert candidate(1, 2) == 3
        except:
            pass
