# expect: pass
# calls: [(["grüß ", "✓ 你好 \U0001f600"], "grüß ✓ 你好 \U0001f600"), ([b"\xff", b"\0"], b"\xff\0"), (["", "\n\t\"'\\"], "\n\t\"'\\")]
def add(a, b):
    return a + b
