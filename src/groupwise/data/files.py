"""Files, folders and hub data sets to raw rows, each with where it came from."""

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from groupwise.errors import DataError, MissingExtra, did_you_mean

READABLE = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
_FILE_LIKE = (*READABLE, ".gz", ".csv", ".tsv", ".txt", ".yaml", ".zip")
_SPLITS = ("train", "test", "validation", "valid", "val", "dev", "eval")
_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?(:[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row before it is checked; `problem` says why it could not even be parsed."""

    origin: str
    value: Any
    problem: str = ""


def raw_rows(path: str | Path, split: str) -> Iterator[RawRow]:
    """The rows of a file, of a folder's files in order of name, or of a hub data set `owner/name[:config]`.

    Raises DataError for what is no such thing or cannot be opened; a row that cannot be parsed is yielded
    with its `problem`, so that the caller can count them all.
    """
    place = Path(path).expanduser()
    if place.is_dir():
        for file in _folder(place, split):
            yield from _file(file, file.relative_to(place).as_posix())
    elif place.is_file():
        if split != "train":
            raise DataError(f"{path}: data.split = {split!r} has no effect on a single file: leave it out")
        yield from _file(place, place.name)
    elif _HUB_NAME.fullmatch(str(path)) and not str(path).endswith(_FILE_LIKE):
        yield from hub_rows(str(path), split)
    else:
        raise DataError(f"{path}: no such file.{_near(place)}")


def _near(place: Path) -> str:
    if os.path.lexists(place):
        return " There is something of this name that is neither a file nor a folder."
    if not place.parent.is_dir():
        return f" The folder `{place.parent}` does not exist either."
    names = [file.name for file in place.parent.iterdir() if file.name.endswith(READABLE)]
    return did_you_mean(place.name, names) if names else f" The folder `{place.parent}` holds no data files."


def _folder(folder: Path, split: str) -> list[Path]:
    """The folder's data files; where some are named for a split (`train-00000.parquet`), those of `split`."""
    inside = [(file, file.relative_to(folder)) for file in sorted(folder.rglob("*")) if file.is_file()]
    files = {
        file: name for file, name in inside if name.name.endswith(READABLE) and not name.as_posix().startswith(".")
    }
    if not files:
        raise DataError(f"{folder}: holds no data files; readable are {', '.join(READABLE)}")
    split_of = {file: _split_of(name) for file, name in files.items()}
    if not any(split_of.values()):
        if split != "train":
            raise DataError(
                f"{folder}: no file is named for a split, so data.split = {split!r} has no effect: leave it out"
            )
        return list(files)
    chosen = [file for file, its_split in split_of.items() if its_split == split]
    if not chosen:
        there = sorted({name for name in split_of.values() if name})
        raise DataError(f"{folder}: no file is named for the split `{split}`; there are: {', '.join(there)}")
    return chosen


def _split_of(name: Path) -> str | None:
    for part in reversed(name.parts):
        word = re.split(r"[-_.]", part)[0]
        if word in _SPLITS:
            return word
    return None


def _file(file: Path, name: str) -> Iterator[RawRow]:
    plain = name.removesuffix(".gz")
    try:
        if plain.endswith(".jsonl"):
            with _open(file) as stream:
                yield from _lines(stream, name)
        elif plain.endswith(".json"):
            yield from _json(file, name)
        elif name.endswith(".parquet"):
            yield from _parquet(file, name)
        else:
            raise DataError(f"{file}: cannot read files with the ending `{file.suffix}`; use {', '.join(READABLE)}")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file}: cannot be read ({error}); is the file complete, and what its ending says?") from error


def _open(file: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(file, "rb")) if file.suffix == ".gz" else file.open("rb")


def _lines(stream: IO[bytes], name: str) -> Iterator[RawRow]:
    for number, line in enumerate(stream, start=1):
        origin = f"{name}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            yield RawRow(origin, None, _not_utf8(error))
            continue
        if text.strip():
            yield _parsed(text.rstrip("\r\n"), origin)


def _not_utf8(error: UnicodeDecodeError) -> str:
    return (
        f"byte {error.start + 1} is {error.object[error.start]:#04x}, which is not UTF-8: "
        "save the file as UTF-8 (for instance `iconv -f latin1 -t utf-8`)"
    )


def _parsed(text: str, origin: str) -> RawRow:
    try:
        return RawRow(origin, json.loads(text, object_pairs_hook=_without_doubles))
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        return RawRow(
            origin, None, f"column {error.colno}: not valid JSON ({error.msg}) near {near!r}: correct the line"
        )
    except (ValueError, RecursionError) as error:
        return RawRow(origin, None, f"not readable JSON ({error}): correct the line")


def _without_doubles(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's items; ValueError for a key that stands twice, of which one value would be lost."""
    found = dict(items)
    if len(found) < len(items):
        names = [name for name, _ in items]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{double}` stands twice in one object")
    return found


def _json(file: Path, name: str) -> Iterator[RawRow]:
    """An array of objects; a `.json` file that starts with an object holds JSON lines."""
    with _open(file) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{file}: line {line}: {_not_utf8(error)}") from error
    if text.lstrip()[:1] == "{":
        with _open(file) as stream:
            yield from _lines(stream, name)
        return
    if not text.strip():
        return
    try:
        rows = json.loads(text, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        raise DataError(
            f"{file}: line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}) near {near!r}: "
            "correct the file, or name it .jsonl if it holds one object a line"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: not readable JSON ({error})") from error
    if not isinstance(rows, list):
        raise DataError(f"{file}: holds a {type(rows).__name__}: must be an array of objects, or one object a line")
    yield from (RawRow(f"{name}:{number}", row) for number, row in enumerate(rows, start=1))


def _parquet(file: Path, name: str) -> Iterator[RawRow]:
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        for batch in parquet.ParquetFile(file).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield RawRow(f"{name}:{number}", row)
    except pyarrow.ArrowException as error:
        raise DataError(f"{file}: not a readable Parquet file ({error})") from error


def hub_rows(name: str, split: str) -> Iterator[RawRow]:
    """The rows of a hub data set `owner/name` or `owner/name:config`."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "hub", f"`{name}` is no file or folder; reading it as a hub data set") from None
    identifier, _, config = name.partition(":")
    try:
        rows = datasets.load_dataset(identifier, config or None, split=split)
    except Exception as error:  # whatever the hub, the network or the set's own files raise
        raise DataError(
            f"{name}: no file or folder of this name, and as a hub data set (split `{split}`) it cannot be loaded: "
            f"{error}. Check the path; a set's configuration is written `owner/name:config`"
        ) from error
    yield from (RawRow(f"{name}:{number}", row) for number, row in enumerate(rows, start=1))
