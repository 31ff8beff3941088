# mode: stdio
# expect: pass
# note: the usual speed-up of contest programs
import io
import os
import sys


class FastIO(io.IOBase):
    def __init__(self, number):
        self.buffer = io.BytesIO()
        self.number = number
        self.write = self.buffer.write

    def flush(self):
        os.write(self.number, self.buffer.getvalue())
        self.buffer.truncate(0)
        self.buffer.seek(0)


sys.stdin = io.StringIO(os.read(0, 1 << 16).decode())
out = FastIO(1)
a, b = map(int, sys.stdin.readline().split())
out.write(b"%d\n" % (a + b))
out.flush()
