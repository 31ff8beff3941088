# expect: pass error memory crash fail
# danger: processes
# known: landlock has no count of threads; the address space bounds them
import threading
import time


def add(a, b):
    threading.stack_size(32768)
    count = 0
    try:
        for _ in range(500):
            threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    if count > 100:
        print("ESCAPE", count, "threads")
    return a + b
