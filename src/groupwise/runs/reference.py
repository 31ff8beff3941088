"""The contract as Markdown tables, from `schema.py`: `python -m groupwise.runs.reference`."""

import inspect
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from groupwise.runs.schema import FILES, PIPELINE_FILES, RECORDS

_PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null", Any: "any value"}


def reference() -> str:
    """The files of a run, those of a pipeline, then each record with its fields."""
    pipeline = "A pipeline's directory holds"
    return "\n\n".join([_files(FILES), pipeline, _files(PIPELINE_FILES), *map(_table, RECORDS)]) + "\n"


def _files(files: Mapping[str, str]) -> str:
    return "\n".join(["| file | what |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in files.items())])


def _table(record: type) -> str:
    lines = [f"### {record.__name__}", "", inspect.cleandoc(record.__doc__ or ""), ""]
    lines += ["| field | type | meaning |", "|---|---|---|"]
    for name, hint in get_type_hints(record, include_extras=True).items():
        kind, meaning = get_args(hint)
        lines.append(f"| `{name}` | {_json_type(kind)} | {meaning} |")
    return "\n".join(lines)


def _json_type(kind: Any) -> str:
    """How JSON has a type of Python."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _json_type(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(map(_json_type, inner))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is Sequence:
        return f"array of {_json_type(inner[0])}"
    if origin is Mapping:
        return "object" if inner[1] is Any else f"object of {_json_type(inner[1])}"
    return _PLAIN.get(kind) or f"[{kind.__name__}](#{kind.__name__.lower()})"


if __name__ == "__main__":
    print(reference(), end="")
