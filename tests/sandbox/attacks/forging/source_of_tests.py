# expect: fail
# passed: 0
# secret: yes
import inspect
import linecache
import re
import sys
import traceback


def add(a, b):
    text = "".join(line for entry in linecache.cache.values() for line in (entry[2] if len(entry) > 2 else ()))
    for frame in inspect.stack():
        text += "".join(frame.code_context or ())
        try:
            text += inspect.getsource(frame.frame)
        except (OSError, TypeError):
            continue
    text += "".join(traceback.format_stack()) + " ".join(sys.argv) + " ".join(sys.orig_argv) + repr(sys.path)
    if re.search("7734" + "0" + r"\d{14}", text):
        print("ESCAPE secret in source text")
    return None
