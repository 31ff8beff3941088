# expect: fail error protocol_error exited_early
# passed: 0
# note: every answer leaves as what the program wants it to be
import json

json.dumps = lambda *_, **__: '[0,"ok",true]'


def add(a, b):
    return None
