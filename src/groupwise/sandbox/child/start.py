"""The program that is started, as `python -s -S -P start.py FD`: this folder becomes a package of its own.

So that neither the library nor what it stands on (torch) is ever loaded in a process that runs foreign code.
"""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    above = str(Path(__file__).resolve().parent.parent)
    sys.path.insert(0, above)
    zygote = importlib.import_module("child.zygote")
    sys.path.remove(above)
    zygote.main(int(sys.argv[1]))
