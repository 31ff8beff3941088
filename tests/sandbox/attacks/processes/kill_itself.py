# expect: crash pass
# note: the first process of a pid namespace does not hear its own SIGKILL
import os


def add(a, b):
    os.kill(os.getpid(), 9)
    return a + b
