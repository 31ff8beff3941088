# expect: timeout
# limits: spin
# note: CPU time is that of all threads
import threading


def spin():
    while True:
        pass


def add(a, b):
    team = [threading.Thread(target=spin) for _ in range(3)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    return a + b
