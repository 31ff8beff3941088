# expect: error crash memory timeout
# limits: spin
# source: "(" * 400_000 + ")" * 400_000
# passed: 0
