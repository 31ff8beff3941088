# expect: pass
import multiprocessing
import os
import pty
import subprocess
import sys


def tried(name, act):
    try:
        got = act()
        if got not in (None, False, 32512):
            print("ESCAPE", name, got, flush=True)
    except BaseException as error:
        print(name, type(error).__name__)


def add(a, b):
    tried("subprocess", lambda: subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout or None)
    tried("shell", lambda: subprocess.run("echo 1", shell=True, capture_output=True).stdout or None)
    tried("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
    tried("popen", lambda: os.popen("id").read() or None)
    tried("pty", lambda: pty.spawn(["/bin/true"]))
    tried("forkserver", lambda: multiprocessing.get_context("forkserver").Pool(1).map(abs, [-1]))
    tried("fork pool", lambda: multiprocessing.get_context("fork").Process(target=print).start())
    tried(
        "spawnv", lambda: (lambda status: status if status == 0 else None)(os.spawnv(os.P_WAIT, "/bin/true", ["true"]))
    )
    return a + b
