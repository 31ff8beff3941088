# mode: stdio
# expect: fail
print("8\b7")
print("\x1b[1A\x1b[2K7")
