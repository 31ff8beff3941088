# expect: timeout
# limits: sleep
import signal
import time

every = set(signal.valid_signals())
signal.pthread_sigmask(signal.SIG_BLOCK, every)
for number in every:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue


def add(a, b):
    while True:
        time.sleep(0.05)
