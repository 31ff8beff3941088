# mode: tests
# expect: error fail exited_early protocol_error unsupported_value memory timeout
# passed: 0
# limits: sleep
import sys
import types

for name, module in list(sys.modules.items()):
    if name.startswith("child"):
        for key, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and not key.startswith("__"):
                setattr(module, key, lambda *_, **__: [1, "ok", 1, True])


def add(a, b):
    return None
