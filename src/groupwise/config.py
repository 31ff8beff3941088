"""Dataclasses from YAML and dotted overrides: strict, each error naming the setting, its value and the rule."""

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from groupwise.errors import ConfigError, did_you_mean

T = TypeVar("T")


class _Loader(yaml.SafeLoader):
    """YAML where 1e-5 is a number, which YAML 1.1 takes for text, and a key that stands twice is an error."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for i, (key, _) in enumerate(node.value):
            if key.value in keys[:i]:
                raise yaml.MarkedYAMLError(problem=f"`{key.value}` stands here twice", problem_mark=key.start_mark)
        return node


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"recipe {str(path)!r} cannot be read: {error}") from error
    try:
        found = _parsed(text, str(path))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date like 2024-99-99 is a ValueError
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
    """A command-line value as a recipe's YAML reads it; what is no YAML is text."""
    try:
        return _parsed(text, "command line")
    except (yaml.YAMLError, ValueError, RecursionError):
        return text


def _parsed(text: str, name: str) -> Any:
    loader = _Loader(text)
    loader.name = name
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


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
    try:
        return kind(**built)
    except ConfigError as error:
        if "." not in where or where in str(error):
            raise
        raise ConfigError(f"`{where}`: {error}") from error  # a kind of section that stands in several places


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
    section, options = _section(hint), (hint, *get_args(hint))
    if section is not None:
        return None if value is None and type(None) in options else build(section, value, where)
    if get_origin(hint) is Mapping and not isinstance(value, Mapping):
        raise ConfigError(f"`{where}` = {value!r}, must be a section with settings: write {where}.NAME")
    given = value if isinstance(value, list) else [value]
    if any(isinstance(item, bool) for item in given) and {int, float}.intersection(options) and bool not in options:
        raise ConfigError(f"`{where}` = {value!r}: true and false are no numbers, give a number")
    try:
        return TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False)).validate_python(value)
    except ValidationError as error:
        inside = {item["msg"]: "".join(f"[{place}]" for place in item["loc"]) for item in error.errors()}
        rule = "; ".join(f"{place} {said}".strip() for said, place in inside.items())
        raise ConfigError(f"`{where}` = {value!r}: {rule}") from error


def _section(hint: Any) -> type | None:
    """The dataclass of a field that is one, or may be one."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((option for option in options if dataclasses.is_dataclass(option)), None)  # type: ignore[return-value]


def _names(kind: type) -> list[str]:
    return [f.name for f in dataclasses.fields(kind)]


def _required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
