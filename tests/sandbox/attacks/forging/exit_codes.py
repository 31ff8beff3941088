# expect: exited_early memory error crash
# passed: 0
# note: no way of ending may look like the sandbox's own failure, nor like an answer
import os


def add(a, b):
    os.write(2, b"Traceback: OSError: mount failed: sandbox_error\n")
    os.write(1, b"\x15OSError: [Errno 1] unshare (mount and ipc namespace of one job)")
    os._exit(125)
