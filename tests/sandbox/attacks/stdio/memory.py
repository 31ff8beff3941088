# mode: stdio
# expect: memory
print(7, flush=True)
kept = bytearray(8 << 30)
