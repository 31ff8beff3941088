# mode: stdio
# expect: crash
import ctypes

print(7, flush=True)
ctypes.string_at(0)
