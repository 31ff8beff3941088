# expect: fail timeout
# passed: 0
# limits: spin
from decimal import Decimal
from fractions import Fraction


def add(a, b):
    return [Fraction(3**200_000, 7**200_000), Decimal("1e999999"), Decimal("9" * 100_000), complex(1e308, -0.0)]
