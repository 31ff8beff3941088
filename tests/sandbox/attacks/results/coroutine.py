# expect: fail
# passed: 0
async def add(a, b):
    return a + b
