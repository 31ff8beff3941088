# expect: pass
from functools import cache, lru_cache, reduce


@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@cache
def both(a, b):
    return reduce(lambda x, y: x + y, [a, b])


def add(a, b):
    return both(a, b) + fib(300) - fib(299) - fib(298)
