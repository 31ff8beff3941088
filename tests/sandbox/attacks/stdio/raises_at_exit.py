# mode: stdio
# expect: error pass
import atexit

atexit.register(lambda: 1 / 0)
print(7)
