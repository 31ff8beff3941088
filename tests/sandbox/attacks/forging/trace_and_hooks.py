# expect: fail error exited_early protocol_error
# passed: 0
import builtins
import os
import signal
import sys
import threading


def trace(frame, event, given):
    for name in ("expected", "right", "verdict", "passed"):
        if name in frame.f_locals:
            print("trace sees", name)
    return trace


sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)
sys.excepthook = sys.displayhook = sys.unraisablehook = lambda *_: os._exit(0)
builtins.__import__ = lambda name, *_, **__: sys.modules.get(name)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
signal.signal(signal.SIGALRM, lambda *_: None)


def add(a, b):
    return None
