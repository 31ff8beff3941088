# mode: tests
# expect: unsupported_value
# passed: 0
class Equal:
    def __eq__(self, other):
        return True


def add(a, b):
    return Equal()
