# mode: stdio
# expect: timeout
# limits: sleep
# note: the right output, and then it never ends
import time

print(sum(map(int, input().split())), flush=True)
time.sleep(10_000)
