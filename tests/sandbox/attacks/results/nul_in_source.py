# expect: error
# source: "x = 1\0\ndef add(a, b): return a + b"
# passed: 0
