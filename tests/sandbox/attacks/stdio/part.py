# mode: stdio
# expect: fail
# expected: "7\n8\n9\n"
# note: what there is of it is right
print(7)
print(8)
