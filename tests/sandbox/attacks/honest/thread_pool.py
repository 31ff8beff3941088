# expect: pass
from concurrent.futures import ThreadPoolExecutor
from queue import Queue


def add(a, b):
    queue = Queue()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(queue.put, [a, b]))
    return queue.get() + queue.get()
