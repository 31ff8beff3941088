"""The program that is started, as `python -s -S -P start.py FD`: this folder becomes a package of its own.

So that neither the library nor what it stands on (torch) is ever loaded in a process that runs foreign code.
"""

import importlib
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    above = str(Path(__file__).resolve().parent.parent)
    sys.path.insert(0, above)
    # Hooks that threading, random and logging would run after each fork repair what forks of threaded programs break.
    # There is one thread here, and to run them costs a quarter of a child.
    register, os.register_at_fork = os.register_at_fork, lambda **_: None
    zygote = importlib.import_module("child.zygote")
    zygote.import_standard()
    os.register_at_fork = register
    sys.path.remove(above)
    zygote.main(int(sys.argv[1]))
