"""Dataclasses from YAML and dotted overrides: strict, each error naming the setting, its value and the rule."""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from groupwise.errors import ConfigError, did_you_mean

T = TypeVar("T")


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"recipe {str(path)!r} cannot be read: {error}") from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"recipe {str(path)!r} is not YAML: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"recipe {str(path)!r} holds {type(found).__name__}, must be a mapping of sections")
    return found


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """`--a.b 1 --c=x` as {"a.b": 1, "c": "x"}; values are read as YAML."""
    found: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--") or len(flag) == 2:
            raise ConfigError(f"{flag!r} is not a setting: write --section.key VALUE")
        key, equals, text = flag[2:].partition("=")
        if not equals:
            if not rest:
                raise ConfigError(f"--{key} has no value: write --{key} VALUE")
            text = rest.pop(0)
        found[key.replace("-", "_")] = parse_value(text)
    return found


def parse_value(text: str) -> Any:
    """A command-line value as YAML reads it; 1e-5 is a number, which YAML 1.1 would take for text."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return _number(value) if isinstance(value, str) else value


def override(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with dotted keys set; sections are made where they are missing."""
    result: dict[str, Any] = dict(config)
    for dotted, value in overrides.items():
        *sections, last = dotted.split(".")
        inner = result
        for section in sections:
            below = inner.get(section)
            if below is not None and not isinstance(below, Mapping):
                raise ConfigError(f"--{dotted}: `{section}` is {below!r}, not a section with settings")
            inner[section] = dict(below or {})
            inner = inner[section]
        inner[last] = value
    return result


def build(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A dataclass from a mapping: unknown keys, missing keys, wrong types and bad values are ConfigErrors."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"`{where}` = {values!r}, must be a section with settings: {', '.join(_names(kind))}")
    hints = get_type_hints(kind)
    for key in values:
        if key not in _names(kind):
            prefix = f"{where}." if where else ""
            raise ConfigError(f"there is no setting `{prefix}{key}`.{did_you_mean(str(key), _names(kind))}")
    required = [f.name for f in dataclasses.fields(kind) if _required(f)]  # type: ignore[arg-type]  # kind is a dataclass
    for name in required:
        if name not in values:
            raise ConfigError(f"`{where + '.' if where else ''}{name}` is missing: it has no default")
    built = {key: _value(hints[key], value, f"{where}.{key}" if where else key) for key, value in values.items()}
    return kind(**built)


def to_plain(value: Any) -> Any:
    """A configuration as YAML and JSON can hold it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _value(hint: Any, value: Any, where: str) -> Any:
    section = _section(hint)
    if section is not None and value is not None:
        return build(section, value, where)
    if isinstance(value, str) and float in (hint, *get_args(hint)):
        value = _number(value)
    try:
        return TypeAdapter(hint, config=ConfigDict(strict=False)).validate_python(value, strict=None)
    except ValidationError as error:
        rule = "; ".join(dict.fromkeys(item["msg"] for item in error.errors()))
        raise ConfigError(f"`{where}` = {value!r}: {rule}") from error


def _section(hint: Any) -> type | None:
    """The dataclass of a field that is one, or may be one."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((option for option in options if dataclasses.is_dataclass(option)), None)  # type: ignore[return-value]


def _names(kind: type) -> list[str]:
    return [f.name for f in dataclasses.fields(kind)]


def _required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
