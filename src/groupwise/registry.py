"""Names to objects: a module's name is the name of the one thing it defines. Users' files work in the same place."""

import importlib
import importlib.util
import pkgutil
import sys
from dataclasses import is_dataclass
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from groupwise.candidates import Objective
from groupwise.errors import ConfigError, did_you_mean


def objective_names() -> list[str]:
    """Names of the objectives that the package brings."""
    package = importlib.import_module("groupwise.objectives")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def find_objective(name: str) -> type[Objective]:
    """An objective's class by name (`grpo`), file (`./my_loss.py`) or module (`my_pkg.my_loss`)."""
    module = load_module(name, "groupwise.objectives", known=objective_names(), what="objective.name")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Objective) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ConfigError(f"objective.name = {name!r} defines {len(found)} objectives, must define exactly one")
    objective: Any = found[0]
    if not is_dataclass(objective) or isabstract(objective):
        raise ConfigError(
            f"objective.name = {name!r}: {found[0].__name__} must be a dataclass, its settings the fields, with a "
            "method __call__(self, c) -> Loss"
        )
    return found[0]


def load_module(name: str, package: str, *, known: list[str], what: str) -> ModuleType:
    """The module of this name: ours, a file's, or an importable one."""
    if name in known:
        return importlib.import_module(f"{package}.{name}")
    if name.endswith(".py") or "." in name:
        return user_module(name, what)
    raise ConfigError(f"{what} = {name!r} is not known.{did_you_mean(name, known)}")


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
