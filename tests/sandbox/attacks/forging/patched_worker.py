# expect: fail error exited_early protocol_error memory
# passed: 0
# note: the worker's own modules, in the program's process: all it can change is what it answers
import sys
import types

for name, module in list(sys.modules.items()):
    if not name.startswith("child"):
        continue
    print(name)
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and not key.startswith("__"):
            setattr(module, key, lambda *_, **__: [True, "ok", "pass"])


def add(a, b):
    return None
