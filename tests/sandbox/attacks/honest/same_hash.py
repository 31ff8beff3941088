# expect: pass
# twice: yes
import random


def add(a, b):
    print(hash("abc"), {"x", "y", "z"}, random.random())
    return a + b
