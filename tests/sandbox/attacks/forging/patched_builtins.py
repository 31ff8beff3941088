# expect: fail error memory
# passed: 0
import builtins
import json
import math
import operator
import struct


def yes(*_, **__):
    return True


for place, names in (
    (builtins, ("all", "any", "isinstance", "issubclass", "len", "abs", "getattr", "hash", "sorted", "zip", "repr")),
    (json, ("dumps", "loads")),
    (json.encoder, ("encode_basestring", "encode_basestring_ascii", "c_make_encoder")),
    (math, ("isclose", "isnan", "isfinite")),
    (operator, ("eq", "ne", "is_")),
    (struct, ("pack", "unpack")),
):
    for name in names:
        setattr(place, name, yes)


def add(a, b):
    return None
