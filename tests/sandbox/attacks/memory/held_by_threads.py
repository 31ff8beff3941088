# expect: memory error timeout crash
import threading

kept = []


def grow():
    while True:
        kept.append(b"z" * (4 << 20) + bytes([len(kept) % 256]))


def add(a, b):
    team = [threading.Thread(target=grow) for _ in range(4)]
    threading.excepthook = lambda given: kept.append(MemoryError)
    for one in team:
        one.start()
    for one in team:
        one.join()
    if kept.count(MemoryError) < 4:
        print("ESCAPE")
    raise MemoryError
