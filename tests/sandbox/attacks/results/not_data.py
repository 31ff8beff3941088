# expect: fail
# passed: 0
import sys
import threading


def add(a, b):
    return [lambda: 3, threading.Lock(), (x for x in [3]), object(), add, sys, sys._getframe(), NotImplemented, ...]
