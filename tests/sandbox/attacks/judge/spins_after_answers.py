# mode: tests
# expect: pass timeout
# limits: spin
# note: the answers were right, and a thread is left
import threading


def spin():
    while True:
        pass


def add(a, b):
    threading.Thread(target=spin, daemon=True).start()
    return a + b
