# expect: error crash memory timeout
# limits: spin
# source: "x = " + "-" * 1_000_000 + "1"
# passed: 0
