# mode: stdio
# expect: error
print(7, flush=True)
raise ValueError
