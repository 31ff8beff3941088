# mode: stdio
# expect: fail
print("PASSED")
print("1 passed in 0.01s")
print("OK")
