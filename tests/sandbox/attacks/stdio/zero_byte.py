# mode: stdio
# expect: fail
print("7\0")
