# mode: stdio
# expect: fail
print(" 7")
