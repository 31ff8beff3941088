"""A user's own code by the file or module it stands in."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from zlib import crc32

from groupwise.errors import ConfigError


def user_module(name: str, what: str) -> ModuleType:
    """A user's Python file (`./mine.py`) or importable module (`my_pkg.mine`).

    Raises ConfigError, naming `what` asked for it, if it is not there or fails on import.
    """
    path = Path(name)
    if name.endswith(".py") and not path.is_file():
        raise ConfigError(f"{what} = {name!r}: there is no such file (looked in {Path.cwd()})")
    try:
        return _file_module(path) if name.endswith(".py") else importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a file that is a script may end the process
        raise ConfigError(
            f"{what} = {name!r} cannot be imported: {type(error).__name__}: {error}. "
            "Give a name, a file ending in .py, or an importable module"
        ) from error


def _file_module(path: Path) -> ModuleType:
    name = f"groupwise_user_{path.stem}_{crc32(bytes(path.resolve())):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
