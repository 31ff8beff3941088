# mode: stdio
# expect: pass
import atexit
import threading

a, b = map(int, input().split())
atexit.register(lambda: print(a + b))
threading.Thread(target=lambda: None).start()
