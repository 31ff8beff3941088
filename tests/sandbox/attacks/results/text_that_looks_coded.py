# expect: pass
# calls: [([1, 2], ["?int", "l5", "i3", "s", "", "[{", "\x00", "\ud800"])]
def add(a, b):
    return ["?int", "l5", "i3", "s", "", "[{", "\x00", "\ud800"]
