# expect: pass
import glob
import os

PLACES = [
    *("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/machine-id"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/mounts", "/proc/self/mounts", "/proc/version", "/proc/1/environ"),
    *("/sys/kernel/notes", "/sys/class", "/var/log", "/var/lib/dpkg/status", "/root/.bashrc", "/root/.ssh", "/home"),
    *("/boot", "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm", "/dev/shm"),
    *("/dev/tty", "/dev/pts/0", "/dev/ptmx", "/usr/bin", "/bin/sh", "/opt", "/srv", "/mnt", "/run/secrets"),
]


def look(path):
    if os.path.isdir(path):
        return len(os.listdir(path))
    with open(path, "rb") as file:
        return len(file.read(64))


def add(a, b):
    for stage in "@STAGES@".split(":"):
        PLACES.extend([stage, f"{stage}/secret.txt", f"{stage}/home/.ssh/id_ed25519", f"{stage}/home/.netrc"])
    PLACES.extend(["@REPOSITORY@", "@REPOSITORY@/pyproject.toml", "@PACKAGE@/sandbox.py"])
    for path in PLACES:
        try:
            if look(path) or os.path.isfile(path):
                print("ESCAPE read", path)
        except OSError as error:
            print(path, error.errno)
    if glob.glob("/proc/[0-9]*/cmdline"):
        print("ESCAPE lists processes")
    return a + b
