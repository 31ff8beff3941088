# mode: tests
# expect: fail
# passed: 1
def add(a, b):
    return 3


# --- tests ---
import pytest
from solution import add


@pytest.mark.parametrize("a, b, c", [(1, 2, 3), (3, 4, 7)])
def test_sum(a, b, c):
    assert add(a, b) == c
