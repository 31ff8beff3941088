# expect: fail
# passed: 1
# note: all inputs are the program's to see; no expected value is with them
import sys


def add(a, b):
    frame = sys._getframe()
    while frame:
        if "job" in frame.f_locals:
            job = frame.f_locals["job"]
            print(sorted(job))
            if set(job) - {"mode", "seed", "source", "entry", "calls"}:
                print("ESCAPE more than inputs in the job")
        frame = frame.f_back
    return 3
