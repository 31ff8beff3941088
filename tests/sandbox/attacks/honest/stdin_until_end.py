# mode: stdio
# expect: pass
# stdin: "1\n2\n3"
# expected: "6\n"
total = 0
while True:
    try:
        total += int(input("? ") if False else input())
    except EOFError:
        break
print(total)
