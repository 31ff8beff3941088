# mode: tests
# expect: error fail
# passed: 0
# note: an AttributeError out of a property reads as "there is none"
def add(a, b):
    raise AttributeError


# --- tests ---
class Case:
    def __init__(self, candidate):
        self.candidate = candidate

    @property
    def wrong(self):
        return self.candidate(1, 2) != 3


def check(candidate):
    assert hasattr(Case(candidate), "wrong")
    assert not getattr(Case(candidate), "wrong", True)
