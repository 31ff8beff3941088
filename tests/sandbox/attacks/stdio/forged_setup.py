# mode: stdio
# expect: error fail
import os

os.write(1, b"\x15OSError: unshare")
os._exit(125)
