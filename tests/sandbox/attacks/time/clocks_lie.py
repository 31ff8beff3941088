# expect: timeout
# limits: spin
import resource
import time

time.time = time.monotonic = time.perf_counter = time.process_time = lambda: 0.0
resource.getrusage = lambda who: None


def add(a, b):
    while True:
        pass
