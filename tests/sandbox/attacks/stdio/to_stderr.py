# mode: stdio
# expect: fail
import sys

print(7, file=sys.stderr)
