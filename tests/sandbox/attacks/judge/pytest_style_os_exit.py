# mode: tests
# expect: exited_early
# passed: 0
import os


def add(a, b):
    os._exit(0)


# --- tests ---
from solution import add


def test_one():
    assert add(1, 2) == 3


def test_two():
    assert add(3, 4) == 7
