# mode: stdio
# expect: fail
pass
