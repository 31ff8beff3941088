# mode: tests
# expect: error
# passed: 0
raise ValueError("sandbox_error")
