# mode: stdio
# expect: pass
# expected: "".join(f"{i}\n" for i in range(100_000))
import sys

sys.stdout.write("\n".join(map(str, range(100_000))) + "\n")
