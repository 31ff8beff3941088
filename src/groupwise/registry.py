"""Names to objects: a module's name is the name of the one thing it defines. Users' files work in the same place."""

import importlib
import pkgutil
from dataclasses import is_dataclass
from inspect import isabstract
from types import ModuleType
from typing import Any

from groupwise.candidates import Objective
from groupwise.errors import ConfigError, did_you_mean
from groupwise.user_module import user_module


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
