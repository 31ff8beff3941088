# mode: tests
# expect: pass
def add(a, b):
    if not isinstance(a, int):
        raise TypeError("numbers, please")
    if b < 0:
        raise KeyError(b)
    return a + b


# --- tests ---
import pytest


def test_adds():
    assert add(1, 2) == pytest.approx(3.0000001)


def test_refuses():
    with pytest.raises(TypeError, match="numbers"):
        add("x", 1)
    with pytest.raises(LookupError):
        add(1, -1)
