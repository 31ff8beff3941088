# mode: stdio
# expect: error
import sys

print(7)
sys.exit(3)
