# mode: tests
# expect: fail error
# passed: 1
def add(a, b):
    if a == 3:
        raise AssertionError
    return a + b


# --- tests ---
import unittest
from solution import add


class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(add(1, 2), 3)

    def test_two(self):
        self.assertEqual(add(3, 4), 7)
