# mode: stdio
# expect: timeout
# limits: sleep
import threading
import time

print(sum(map(int, input().split())), flush=True)
threading.Thread(target=time.sleep, args=(10_000,)).start()
