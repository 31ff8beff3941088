# mode: tests
# expect: exited_early
# passed: 0
def add(a, b):
    raise SystemExit(0)
