# expect: error
# passed: 0
add = 3
