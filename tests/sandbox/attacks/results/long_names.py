# expect: error
# passed: 0
def add(a, b):
    raise type("E" * 3_000_000, (Exception,), {"__str__": lambda self: "m" * 20_000_000})
