# mode: stdio
# expect: fail
import sys

sys.stdout.buffer.write(b"\xff7\xfe\n")
