# expect: timeout
# limits: spin
import re


def add(a, b):
    return len(re.findall(r"^(x+x+)+y$", "x" * 48)) + a + b
