"""What test files use of pytest, in little: `raises`, `approx`, `mark.parametrize`, `fixture`, `skip`, `fail`."""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any


class Skipped(Exception):  # noqa: N818  # pytest's own name
    """A test that says it does not apply: it counts neither for the program nor against it."""


class Failed(AssertionError):  # noqa: N818  # pytest's own name
    """A test that says it failed."""


class raises:  # noqa: N801  # pytest's own name
    """`with raises(ValueError): ...`, or `raises(ValueError, function, *arguments)`."""

    def __init__(self, expected: Any, *call: Any, match: str | None = None, **kwargs: Any) -> None:
        self.expected, self.match = expected, match
        self.value: Any = None
        if call:
            with self:
                call[0](*call[1:], **kwargs)

    def __enter__(self) -> "raises":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise Failed(f"did not raise {self.expected}")
        if not issubclass(kind, self.expected):
            return False
        if self.match is not None and not re.search(self.match, str(error)):
            raise Failed(f"{str(error)[:200]!r} does not match {self.match!r}")
        self.value = error
        return True


class approx:  # noqa: N801  # pytest's own name
    """A number, or a list, tuple or dict of numbers, that may differ a little."""

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:  # noqa: A002
        self.expected, self.rel, self.abs = expected, rel, abs

    def __eq__(self, other: object) -> bool:
        return self._near(other, self.expected)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"

    def _near(self, other: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(other, dict)
                and other.keys() == expected.keys()
                and all(self._near(other[key], value) for key, value in expected.items())
            )
        if isinstance(expected, list | tuple):
            return (
                isinstance(other, list | tuple)
                and len(other) == len(expected)
                and all(self._near(one, value) for one, value in zip(other, expected, strict=True))
            )
        if not isinstance(expected, int | float | complex) or not isinstance(other, int | float | complex):
            return bool(other == expected)
        if expected == other:
            return True
        relative = (1e-6 if self.rel is None and self.abs is None else self.rel or 0.0) * abs(expected)
        return bool(abs(other - expected) <= max(relative, 1e-12 if self.abs is None else self.abs))


def _skip(reason: str = "", **_: Any) -> None:
    raise Skipped(reason)


def _fail(reason: str = "", **_: Any) -> None:
    raise Failed(reason)


def _fixture(function: Any = None, **settings: Any) -> Any:
    def mark(one: Callable[..., Any]) -> Callable[..., Any]:
        one.fixture_name = settings.get("name") or one.__name__  # type: ignore[attr-defined]
        return one

    return mark(function) if callable(function) else mark


class Row(tuple[Any, ...]):
    """A row of `parametrize` that was written as `param(...)`."""

    __slots__ = ()


def _param(*one: Any, **_: Any) -> Row:
    return Row(one)


class _Mark:
    def __getattr__(self, name: str) -> Any:
        if name == "parametrize":
            return _parametrize
        if name in ("skip", "skipif", "xfail"):
            return _set_aside(name)

        def mark(*given: Any, **_: Any) -> Any:
            return given[0] if len(given) == 1 and callable(given[0]) else lambda one: one

        return mark


def _parametrize(names: Any, rows: Any, **_: Any) -> Any:
    split = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def mark(one: Any) -> Any:
        one.parameters = [*getattr(one, "parameters", []), (split, list(rows))]
        return one

    return mark


def _set_aside(name: str) -> Any:
    def given(*arguments: Any, **_: Any) -> Any:
        if len(arguments) == 1 and callable(arguments[0]) and not isinstance(arguments[0], type):
            arguments[0].set_aside = True
            return arguments[0]

        def mark(one: Any) -> Any:
            one.set_aside = name != "skipif" or bool(arguments and arguments[0])
            return one

        return mark

    return given


def module() -> types.ModuleType:
    """What `import pytest` gives a test file."""
    made = types.ModuleType("pytest")
    made.__dict__.update(
        raises=raises, approx=approx, skip=_skip, fail=_fail, fixture=_fixture, param=_param, mark=_Mark()
    )
    return made


def rows_of(test: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The parameters of each run of a test: the product of its `parametrize` marks."""
    rows: list[dict[str, Any]] = [{}]
    for names, given in getattr(test, "parameters", []):
        marked = [
            dict(zip(names, one if len(names) > 1 or isinstance(one, Row) else (one,), strict=True)) for one in given
        ]
        rows = [{**row, **one} for row in rows for one in marked]
    yield from rows


def wanted_by(test: Callable[..., Any]) -> list[str]:
    """The names of the arguments a test asks for."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(test).parameters.values()
    return [one.name for one in parameters if one.kind in kinds and one.default is inspect.Parameter.empty]
