# mode: tests
# expect: fail error
# passed: 1
# note: raises for all, where the tests expect it once
def add(a, b):
    raise TypeError("no numbers")


# --- tests ---
import pytest
from solution import add


def test_refuses():
    with pytest.raises(TypeError):
        add("x", 2)


def test_adds():
    assert isinstance(add(1, 2), int)
