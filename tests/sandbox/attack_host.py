"""The machine that the attack programs are set against: what lies about on it, and what must not have happened."""

import ctypes
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import groupwise.sandbox

_PACKAGE = Path(groupwise.sandbox.__file__).parent
_REPOSITORY = Path(__file__).parents[2]


class Host:
    """Secrets in files and in the environment, listeners, a victim; `harm` says what a program did to them."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.secret = "77340" + str(int.from_bytes(os.urandom(7), "big") % 10**14).zfill(14)
        os.environ["GROUPWISE_TEST_TOKEN"] = self.secret
        self.stages = [Path(tempfile.mkdtemp(prefix="stage-", dir=place)) for place in ("/tmp", "/var/tmp")]
        for stage in self.stages:
            stage.chmod(0o755)
            (stage / "home" / ".ssh").mkdir(parents=True)
            for name in ("secret.txt", "expected.txt", "home/.ssh/id_ed25519", "home/.netrc"):
                (stage / name).write_text(f"add(5, 6) == {self.secret}\n")
                with suppress(OSError):  # where this file system has them
                    os.setxattr(stage / name, "user.secret", self.secret.encode())
        self.victim = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.listeners = self._listen()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans of descendants become children of this process
        self.descendants: set[int] = set()
        self.descriptors = 0

    def _listen(self) -> list[socket.socket]:
        tcp = socket.create_server(("127.0.0.1", 0))
        listeners = [tcp]
        for kind, address in (
            (socket.SOCK_STREAM, f"{self.stages[0]}/listener"),
            (socket.SOCK_STREAM, f"\0groupwise-{self.tag}"),
            (socket.SOCK_DGRAM, f"\0groupwise-{self.tag}-dgram"),
        ):
            one = socket.socket(socket.AF_UNIX, kind)
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
            listeners.append(one)
        os.chmod(f"{self.stages[0]}/listener", 0o777)
        for one in listeners:
            one.setblocking(False)
        return listeners

    def names(self, tier: str) -> dict[str, str]:
        """What stands for what in a program's text."""
        sites = {path for path in sys.path if "site-packages" in path or "dist-packages" in path}
        return {
            "@SECRET@": self.secret,
            "@STAGE@": str(self.stages[0]),
            "@STAGES@": ":".join(map(str, self.stages)),
            "@PORT@": str(self.listeners[0].getsockname()[1]),
            "@TAG@": self.tag,
            "@VICTIM@": str(self.victim.pid),
            "@RUNNER@": str(os.getpid()),
            "@STDLIB@": sysconfig.get_path("stdlib"),
            "@SITE@": sysconfig.get_path("purelib"),
            "@SITES@": ":".join(sorted(sites)),
            "@PACKAGE@": str(_PACKAGE),
            "@REPOSITORY@": str(_REPOSITORY),
            "@HOME@": os.path.expanduser("~"),
            "@MACHINE@": os.uname().machine,
            "@TIER@": tier,
        }

    def remember(self) -> None:
        """What there is now is what there may be later."""
        self.descendants = _descendants(os.getpid())
        self.descriptors = len(os.listdir("/proc/self/fd"))

    def harm(self) -> list[str]:
        """What is not as it was."""
        found = [f"a connection to {one.getsockname()!r}" for one in self.listeners if _touched(one)]
        found += [f"wrote {path}" for path in self._written()]
        if self.victim.poll() is not None:
            found.append(f"the victim ended with {self.victim.returncode}")
        deadline = time.monotonic() + 3.0
        while (now := _descendants(os.getpid())) != self.descendants and time.monotonic() < deadline:
            time.sleep(0.02)
        found += [f"process {pid} is left: {_command(pid)}" for pid in now - self.descendants]
        found += [f"process {pid} of the sandbox is gone" for pid in self.descendants - now]
        descriptors = len(os.listdir("/proc/self/fd"))
        if descriptors != self.descriptors:
            found.append(f"{descriptors - self.descriptors} descriptors of the trainer's are left open")
        return found

    def _written(self) -> list[str]:
        stdlib = sysconfig.get_path("stdlib")
        places = [*map(str, self.stages), "/", "/etc", "/root", "/home", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run"]
        places += ["/usr/lib", stdlib, f"{stdlib}/json", str(_REPOSITORY), str(_PACKAGE), str(_PACKAGE / "child"), "."]
        written = []
        for place in places:
            try:
                names = os.listdir(place)
            except OSError:
                continue
            written += [f"{place}/{name}" for name in names if name.startswith(("pwned", "fill0", "groupwise-bound"))]
        return written

    def leave(self) -> list[str]:
        """Clear up; what is left of processes once every sandbox is closed."""
        self.victim.kill()
        self.victim.wait()
        for one in self.listeners:
            one.close()
        for stage in self.stages:
            for folder, _, names in os.walk(stage, topdown=False):
                for name in names:
                    os.unlink(os.path.join(folder, name))
                os.rmdir(folder)
        time.sleep(0.2)
        return [f"process {pid} outlives the sandbox: {_command(pid)}" for pid in _descendants(os.getpid())]


def _touched(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(100)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _descendants(root: int) -> set[int]:
    """Processes below `root`, without those that have ended and are not yet reaped."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent, *_ = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if state not in "ZX":
                parents[int(name)] = int(parent)
    found: set[int] = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {root}
        found |= more


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return "?"
