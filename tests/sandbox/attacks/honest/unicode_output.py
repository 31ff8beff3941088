# mode: stdio
# expect: pass
# stdin: "grüß dich ✓\n"
# expected: "✓ DICH GRÜSS\n"
print(" ".join(reversed(input().upper().split())))
