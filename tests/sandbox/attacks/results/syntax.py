# expect: error
# source: "def add(a, b) return a + b"
# passed: 0
