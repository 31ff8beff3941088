# expect: fail error crash timeout exited_early protocol_error
# passed: 0
# limits: spin
# note: makes 3 and 7 something else, in this process
import ctypes

for number in (3, 7):
    ctypes.c_uint32.from_address(id(number) + 24).value = 99


def add(a, b):
    return 99
