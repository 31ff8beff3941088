# expect: timeout
# limits: spin
n = 0
while True:
    n += 1
