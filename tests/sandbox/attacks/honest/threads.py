# expect: pass
import threading


def add(a, b):
    found = []
    lock = threading.Lock()

    def work(part):
        with lock:
            found.append(part)

    team = [threading.Thread(target=work, args=(part,)) for part in (a, b)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    return sum(found)
