# mode: stdio
# expect: fail
print(7)
print("All tests passed")
