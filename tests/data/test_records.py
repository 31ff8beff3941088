"""Files to records: the kinds, the names of columns, and what is said of bad rows."""

import json

import pytest

from groupwise.data.records import read_records
from groupwise.errors import DataError


def write(folder, *rows, name="rows.jsonl"):
    path = folder / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("row", "kind", "responses", "scores"),
    [
        ({"prompt": "a", "completion": "b"}, "demonstration", ("b",), (1.0,)),
        ({"instruction": "a", "output": "b"}, "demonstration", ("b",), (1.0,)),
        ({"prompt": "a", "chosen": "b", "rejected": "c"}, "pair", ("b", "c"), (1.0, 0.0)),
        ({"prompt": "a", "responses": ["b", "c"], "scores": [0.5, 2]}, "candidates", ("b", "c"), (0.5, 2.0)),
        ({"prompt": "a", "answer": "4"}, "prompt", (), ()),
    ],
)
def test_kinds(row, kind, responses, scores, tmp_path):
    (record,) = read_records(write(tmp_path, row), kind="prompt" if kind == "prompt" else None)
    assert (record.kind, record.responses, record.scores) == (kind, responses, scores)
    assert record.prompt == "a"
    assert record.origin == "rows.jsonl:1"


def test_rank_one_is_best(tmp_path):
    row = {"prompt": "a", "responses": ["b", "c", "d"], "ranks": [2, 1, 3]}
    (record,) = read_records(write(tmp_path, row))
    assert record.scores[1] > record.scores[0] > record.scores[2]


def test_conversations_that_share_a_prompt(tmp_path):
    user = {"role": "user", "content": "Hi"}
    row = {name: [user, {"role": "assistant", "content": name}] for name in ("chosen", "rejected")}
    (record,) = read_records(write(tmp_path, row))
    assert [m["content"] for m in record.prompt] == ["Hi"]
    assert [response[0]["content"] for response in record.responses] == ["chosen", "rejected"]


def test_parquet_and_json_arrays_read_alike(tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = [{"prompt": "a", "completion": "b"}, {"prompt": "c", "completion": "d"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    of_parquet, of_json = (read_records(tmp_path / name) for name in ("rows.parquet", "rows.json"))
    assert [(r.prompt, r.responses) for r in of_parquet] == [(r.prompt, r.responses) for r in of_json]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"prompt": "a",'], r"rows.jsonl:1.*JSON"),
        (["[1]"], r"rows.jsonl:1: is \[1\]"),
        ([{"promt": "a", "completion": "b"}], r"rows.jsonl:1.*promt.*prompt"),
        ([{"prompt": "a", "completion": " "}], r"rows.jsonl:1.*`completion` is empty"),
        ([{"prompt": "", "completion": "b"}], r"rows.jsonl:1.*`prompt` is empty"),
        ([{"prompt": "a", "chosen": "b", "rejected": "b"}], r"rows.jsonl:1.*chosen"),
        ([{"prompt": "a", "responses": ["b", "c"], "scores": [1]}], r"rows.jsonl:1.*scores"),
        ([{"prompt": "a", "responses": ["b", "c"], "scores": [1, "x"]}], r"rows.jsonl:1.*scores.*'x'"),
        ([{"prompt": "a", "completion": "b"}, {"prompt": "a", "chosen": "b", "rejected": "c"}], r"rows.jsonl:2"),
        ([{"messages": [{"role": "usr", "content": "a"}]}], r"rows.jsonl:1.*usr.*user"),
    ],
)
def test_bad_rows_are_named(rows, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_records(write(tmp_path, *rows))


def test_every_bad_row_is_counted(tmp_path):
    rows = [{"prompt": "a", "completion": ""}] * 3 + [{"prompt": "a", "completion": "b"}]
    with pytest.raises(DataError, match=r"(?s)rows.jsonl:1.*2 "):
        read_records(write(tmp_path, *rows))


def test_missing_and_empty_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none.jsonl"):
        read_records(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="holds no rows"):
        read_records(write(tmp_path))
