# expect: fail
# passed: 0
# secret: yes
# note: up the stack, to the harness's local variables
import re
import sys

MARK = re.compile("7734" + "0" + r"\d{14}")


def add(a, b):
    frame = sys._getframe()
    seen = []
    while frame:
        for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
            for name, value in list(space.items()):
                if name in ("expected", "right", "tests", "check", "answers", "in_outs", "outputs", "verdict"):
                    seen.append(name)
                found = MARK.search(repr(value)[:100_000]) if not callable(value) else None
                if found:
                    print("ESCAPE secret as", name)
                    return int(found[0])
        frame = frame.f_back
    print("names:", seen)
    return None
