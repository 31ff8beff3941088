# expect: pass
# danger: processes
import os
import signal


def add(a, b):
    me = os.getpid()
    others = {os.getppid(), os.getpgrp(), os.getsid(0), 1, 2, 3, int("@VICTIM@"), int("@RUNNER@")} - {me, 0}
    for who in sorted(others | {-os.getpgrp()}):
        if abs(who) == me and who > 0:
            continue
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
            try:
                os.kill(who, number)
                print("ESCAPE signal", who, number, flush=True)
            except OSError:
                continue
    try:
        os.killpg(os.getpgrp(), signal.SIGKILL)
        print("ESCAPE killpg", flush=True)
    except OSError as error:
        print(error)
    return a + b
