# expect: exited_early
# passed: 0
import os

os._exit(0)
