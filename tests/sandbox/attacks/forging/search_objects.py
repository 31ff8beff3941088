# expect: fail
# passed: 0
# secret: yes
import gc
import re
import sys

MARK = re.compile("7734" + "0" + r"\d{14}")


def add(a, b):
    gc.unfreeze()
    pending, seen = [*gc.get_objects(), *sys.modules.values(), *sys._current_frames().values()], set()
    while pending and len(seen) < 400_000:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kind = type(one)
        if kind is str or kind is bytes or kind is int:
            text = (
                one
                if kind is str
                else one.decode("latin-1")
                if kind is bytes
                else str(one)
                if -(1 << 80) < one < 1 << 80
                else ""
            )
            found = MARK.search(text)
            if found:
                print("ESCAPE secret in", kind)
                return int(found[0])
        elif kind in (list, tuple, dict, set):
            pending.extend(gc.get_referents(one))
    print(len(seen))
    return None
