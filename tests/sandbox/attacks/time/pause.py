# expect: timeout
# limits: sleep
import signal


def add(a, b):
    signal.pause()
    return a + b
