# mode: stdio
# expect: output_limit
print(7, flush=True)
while True:
    print(7)
