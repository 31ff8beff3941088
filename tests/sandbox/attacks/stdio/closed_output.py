# mode: stdio
# expect: error fail
import os

print(7)
os.close(1)
