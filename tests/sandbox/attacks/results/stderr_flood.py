# expect: output_limit timeout
# passed: 0
# limits: spin
import sys


def add(a, b):
    while True:
        sys.stderr.write("z" * 4000)
