# expect: error
# source: "x = '\ud800'\ndef add(a, b): return a + b"
# passed: 0
