# expect: exited_early
# passed: 0
raise SystemExit(0)
