# mode: stdio
# expect: pass
print("7  \r\n\n\n")
