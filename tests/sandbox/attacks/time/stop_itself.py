# expect: timeout pass
# limits: sleep
# note: the first process of a pid namespace ignores its own SIGSTOP
import os
import signal


def add(a, b):
    os.kill(os.getpid(), signal.SIGSTOP)
    return a + b
