# mode: tests
# expect: pass
# passed: 2
def add(a, b):
    return a + b


# --- tests ---
import unittest
from solution import add


class Sums(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_one(self):
        self.assertEqual(add(self.one, 2), 3)

    def test_two(self):
        for a in range(3):
            with self.subTest(a=a):
                self.assertAlmostEqual(add(a, 0.5), a + 0.5)
