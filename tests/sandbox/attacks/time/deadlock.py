# expect: timeout
# limits: sleep
import threading


def add(a, b):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    return a + b
