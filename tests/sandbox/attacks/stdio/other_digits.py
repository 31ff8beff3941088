# mode: stdio
# expect: fail
print("\uff17")
