# mode: tests
# expect: error fail
# passed: 0
class Enough(StopIteration):
    pass


class AsyncEnough(StopAsyncIteration):
    pass


def add(a, b):
    raise Enough if a == 1 else AsyncEnough


# --- tests ---
CASES = [(1, 2, 3), (3, 4, 7)]


def check(candidate):
    assert not list(filter(lambda case: candidate(*case[:2]) != case[2], CASES))
