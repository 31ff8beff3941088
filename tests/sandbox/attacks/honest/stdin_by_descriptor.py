# mode: stdio
# expect: pass
import io
import os

read = io.BytesIO(os.read(0, os.fstat(0).st_size or 1 << 16)).readline
a, b = map(int, read().split())
os.write(1, b"%d\n" % (a + b))
