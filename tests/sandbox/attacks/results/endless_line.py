# expect: pass
# source: "x = [" + "1, " * 200_000 + "]\ndef add(a, b): return a + b"
