# expect: fail protocol_error
# passed: 0
import sys

for name, module in list(sys.modules.items()):
    if name.endswith("values") and hasattr(module, "encode"):
        module.encode = lambda value, **_: ["pass", True, {"verdict": "pass"}, ["ok"]]


def add(a, b):
    return None
