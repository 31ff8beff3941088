# expect: memory timeout
# limits: spin
def add(a, b):
    return (1 << (1 << 36)).bit_length()
