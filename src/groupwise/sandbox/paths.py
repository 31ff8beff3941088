"""Which folders a program may read: Python's library, the system's shared libraries, the packages allowed."""

import glob
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from groupwise.errors import ConfigError

_LIBRARIES = ("/lib64", "/usr/lib64", "/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/usr/local/lib/*-linux-gnu*")
_FILES = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/lib/ld-musl-*")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LINKS = ("/lib", "/lib32", "/lib64")


def visible(packages: tuple[str, ...]) -> dict[str, Any]:
    """What a zygote needs to know; all lists of absolute paths.

    `show` may be read; `mask` is taken out of it again (installed packages: they hold data sets, and their answers);
    `list` may be listed; `packages` are put back; `import` is where these are found.
    """
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(Path(os.__file__).parent)}
    base = Path(sys.base_prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = {path for path in [*stdlib, str(base)] if path.startswith(sys.base_prefix + "/") and os.path.isdir(path)}
    libraries = [os.path.realpath(path) for pattern in _LIBRARIES for path in glob.glob(pattern) if os.path.isdir(path)]
    if not libraries or os.path.exists("/usr/lib/libc.so.6") or glob.glob("/lib/ld-musl-*"):
        libraries += ["/usr/lib", "/lib"]
    files = [path for pattern in _FILES for path in sorted(glob.glob(pattern))]
    show = _outermost([*sorted(stdlib), *libraries, *files])
    mask = [path for root in show for path in _packages_in(root)]
    found = [path for name in packages for path in _package(name)]
    return {
        "show": show,
        "mask": mask,
        "list": [path for path in show if os.path.isdir(path)],
        "packages": found,
        "import": sorted({str(Path(path).parent) for path in found}),
        "devices": [path for path in _DEVICES if os.path.exists(path)],
        "links": [(path, os.readlink(path)) for path in _LINKS if os.path.islink(path)],
    }


def _outermost(paths: list[str]) -> list[str]:
    """Without what lies in another one, or is the same place by another name."""
    out: list[str] = []
    for path in sorted(paths, key=lambda one: len(os.path.realpath(one))):
        real = os.path.realpath(path)
        inside = any(real == place or real.startswith(place + "/") for place in map(os.path.realpath, out))
        if not inside:
            out.append(path)
    return out


def _packages_in(root: str) -> list[str]:
    if not os.path.isdir(root):
        return []
    patterns = ("site-packages", "dist-packages", "python3*/site-packages", "python3*/dist-packages")
    return [path for pattern in patterns for path in sorted(glob.glob(os.path.join(root, pattern)))]


def _package(name: str) -> list[str]:
    """The package's folder (or file) and the shared libraries that wheels put beside it."""
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or (not spec.submodule_search_locations and not spec.origin):
        raise ConfigError(
            f"sandbox: packages names {name!r}, which is not an installed package. Install it, or leave it out"
        )
    place = next(iter(spec.submodule_search_locations or ()), None) or str(spec.origin)
    beside = f"{place}.libs"
    return [place, beside] if os.path.isdir(beside) else [place]
