# expect: pass timeout error
# expect landlock: error pass
# limits: spin
# note: each lock is a piece of kernel memory; finding its place takes ever longer, so that the time limit bounds them
import fcntl


def add(a, b):
    with open("locked", "wb") as file:
        count = 0
        try:
            for place in range(0, 4_000_000, 2):
                fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
                count += 1
        except OSError as error:
            print(error)
        if count > 500_000:
            print("ESCAPE", count, "locks")
    return a + b
