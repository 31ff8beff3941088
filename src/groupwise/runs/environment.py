"""What a run is carried out with: command, machine, versions, commit."""

import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata

from groupwise.runs.schema import ProcessRecord

PACKAGES = ("groupwise", "torch", "transformers", "tokenizers", "safetensors", "numpy", "peft", "datasets", "vllm")


def this_process(step: int, devices: Sequence[str] = ()) -> ProcessRecord:
    """The running process, about to train from `step`."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return ProcessRecord(
        time=time.time(),
        step=step,
        command=sys.orig_argv,
        directory=os.getcwd(),
        host=socket.gethostname(),
        pid=os.getpid(),
        platform=platform.platform(),
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        devices=devices,
        python=platform.python_version(),
        packages=_versions(),
        git_commit=_git("rev-parse", "HEAD"),
        git_changed=None if changed is None else bool(changed),
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git(*arguments: str) -> str | None:
    """Standard output of a git command in the working directory; None outside a repository."""
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
