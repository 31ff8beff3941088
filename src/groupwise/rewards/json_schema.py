"""Whether the text is JSON that a schema accepts."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, MissingExtra, RewardError
from groupwise.rewards.apart import apart
from groupwise.rewards.program import fenced

LONGEST = 200_000  # characters of JSON that are read
DEEPEST = 100  # objects and lists inside each other
_LITERAL = ("const", "enum", "default", "examples")  # hold values, not schemas


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonSchema:
    """1 if the text is strict JSON that the schema accepts, `parses` if it is only JSON, else 0.

    `place` says what is read: "block" the last fenced block (``` to ```, or to the end); "whole" the text; "auto" the
    last block if there is one, else the text. Strict JSON is RFC 8259's, less what readers disagree about: NaN and
    infinities (also 1e999), a key that stands twice in an object, more than 200,000 characters, integers of more than
    4,300 digits, objects and lists more than 100 deep.

    Schemas are JSON Schema, draft 2020-12 if `$schema` does not say another (4, 6, 7, 2019-09). `format` is not
    checked. A `$ref` may point into the schema or to a draft's own; nothing is ever fetched. Patterns in a schema are
    Python's, and can take exponential time: a judgement runs in a process that is ended after its time (None).

    Raises ConfigError for a schema that is none, RewardError for one in a row; MissingExtra on construction without
    the extra "json-schema".
    """

    schema: Mapping[str, Any] | None = None  # the schema of every row
    path: str | None = None  # or a JSON file that holds it
    column: str | None = None  # or the column that holds the row's, as an object or as JSON text
    place: Literal["auto", "whole", "block"] = "auto"  # what of the text is the JSON
    parses: float = 0.0  # the score of strict JSON that the schema refuses

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _package()
        if sum(given is not None for given in (self.schema, self.path, self.column)) != 1:
            raise ConfigError("json_schema takes its schema from one place: set schema, path or column, one of them")
        if self.place not in ("auto", "whole", "block"):
            raise ConfigError(f"json_schema.place = {self.place!r}, must be `auto`, `whole` or `block`")
        if not 0 <= self.parses <= 1:
            raise ConfigError(f"json_schema.parses = {self.parses}, must be in [0, 1]")
        if self.column is None:
            self._of_settings()

    def __call__(self, row: Mapping[str, Any], text: str) -> Any:
        """Score one completion, in a process that can be killed."""
        return apart(self, row, text)

    def judge(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion in this process."""
        validator = self._of_settings() if self.column is None else self._of_row(row)
        try:
            value = strict_json(self._part(text))
        except (ValueError, RecursionError):
            return 0.0
        try:
            return 1.0 if validator.is_valid(value) else self.parses
        except (RecursionError, ArithmeticError):  # deeper than Python follows; numbers beyond a float's range
            return self.parses
        except _unresolvable() as error:
            raise RewardError(f"cannot follow a $ref of its schema: {error}; nothing is fetched") from error

    def _part(self, text: str) -> str:
        if self.place == "whole":
            return text
        blocks = fenced(text)
        return blocks[-1] if blocks else text if self.place == "auto" else ""

    def _of_settings(self) -> Any:
        where = "json_schema.schema" if self.path is None else f"json_schema.path = {self.path!r}"
        try:
            written = json.dumps(self.schema) if self.path is None else Path(self.path).read_text(encoding="utf-8")
            return _validator(written)
        except (OSError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"{where} is not a JSON Schema: {error}") from error

    def _of_row(self, row: Mapping[str, Any]) -> Any:
        value = row.get(str(self.column))
        try:
            if not isinstance(value, str | Mapping):
                raise ValueError("it must be an object, or JSON text")
            return _validator(value if isinstance(value, str) else json.dumps(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise RewardError(
                f"found {value!r:.300} in column `{self.column}`, which must hold a JSON Schema: {error}. "
                f"The row has: {', '.join(row)}; set json_schema.column to one of them"
            ) from error


def strict_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for what is none, RecursionError for nesting too deep."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text):,} characters, more than {LONGEST:,}")
    value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)
    if (depth := _depth(value)) > DEEPEST:
        raise ValueError(f"{depth} deep, more than {DEEPEST}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond a float's range")
    return number


def _depth(value: Any) -> int:
    """How many objects and lists stand inside each other."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


@lru_cache(maxsize=1024)
def _validator(written: str) -> Any:
    """What checks values by a schema. Raises ValueError for one that is none, or points out of itself."""
    package, schema = _package(), strict_json(written)
    if not isinstance(schema, dict):
        raise ValueError("it must be an object")
    kind: Any = package.validators.validator_for(schema, default=None)
    if kind is None and "$schema" in schema:
        raise ValueError(f"$schema = {schema['$schema']!r} is no known draft")
    kind = kind or package.Draft202012Validator
    try:
        kind.check_schema(schema)
    except package.SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise ValueError(f"{error.message:.300} (at /{place})") from error
    if '"$id"' not in written:  # with bases of their own, references are followed when they are met
        _check_references(schema)
    return kind(schema, registry=_drafts())  # one of its own: the package's default fetches what it does not know


def _check_references(schema: Any) -> None:
    from referencing import Resource
    from referencing.jsonschema import DRAFT202012

    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = _drafts().with_resource("", resource).resolver()
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except _unresolvable() as error:
            raise ValueError(f"$ref = {reference!r} points nowhere inside the schema; nothing is fetched") from error


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key not in _LITERAL:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _drafts() -> Any:
    from jsonschema_specifications import REGISTRY

    return REGISTRY


def _unresolvable() -> Any:
    from referencing.exceptions import Unresolvable

    return Unresolvable


def _package() -> Any:
    try:
        import jsonschema
    except ImportError as error:
        raise MissingExtra("jsonschema", "json-schema", "the reward `json_schema`") from error
    return jsonschema
