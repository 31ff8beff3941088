# mode: stdio
# expect: fail
import os

os._exit(0)
