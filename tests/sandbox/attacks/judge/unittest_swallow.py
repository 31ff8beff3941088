# mode: tests
# expect: exited_early
# passed: 0
import os


def add(a, b):
    os._exit(0)


# --- tests ---
import unittest
from solution import add


class Sums(unittest.TestCase):
    @unittest.expectedFailure
    def test_one(self):
        self.assertEqual(add(1, 2), 4)

    def test_two(self):
        try:
            self.assertEqual(add(3, 4), 7)
        except BaseException:
            pass
