# mode: tests
# expect: timeout fail
# passed: 0
# limits: spin
# note: ints with one hash, for the judge to build a set of
MODULUS = (1 << 61) - 1


def add(a, b):
    import os
    import struct

    members = ",".join(f'"i{i * MODULUS:x}"' for i in range(1, 40_000))
    said = f'[1,"ok",40000,"S39999",{members}]'.encode()
    data = memoryview(struct.pack("=I", len(said)) + said)
    while data:
        data = data[os.write(4, data) :]
