# expect: pass
import signal
import time


def add(a, b):
    heard = []
    signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(0.05)
    return a + b + len(heard) - 1
