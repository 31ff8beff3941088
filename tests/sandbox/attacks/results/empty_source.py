# expect: error
# source: ""
# passed: 0
