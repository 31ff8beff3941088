"""What is wrong with a data set is said before training: file, line, field, value, rule and way out."""

import gzip
import json
import math
import re
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.data.columns import ROLE_COLUMNS
from groupwise.data.records import Kind, read_records
from groupwise.data.rows import read_row
from groupwise.errors import ConfigError, DataError, MissingExtra

USER = {"role": "user", "content": "Hi"}
GOOD = {"role": "assistant", "content": "Hello!"}
BAD = {"role": "assistant", "content": "What?"}
FINE = {"prompt": "Hi", "completion": "Hello!"}


def message(path, rows, error=DataError, **how):
    if not isinstance(rows, str):
        rows = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(rows, encoding="utf-8")
    with pytest.raises(error) as caught:
        read_records(path, **how)
    return str(caught.value)


ROWS = {
    "not an object": ([1, 2], "is [1, 2]: every row must be an object"),
    "empty prompt": ({"prompt": "", "completion": "x"}, "`prompt` is empty ('')"),
    "blank prompt": ({"question": " \n", "completion": "x"}, "`question` is empty"),
    "empty response": ({"prompt": "Hi", "completion": ""}, "`completion` is empty ('')"),
    "blank response": ({"instruction": "Hi", "output": "\t"}, "`output` is empty"),
    "a number as prompt": ({"prompt": 3, "completion": "x"}, "`prompt` is 3: must be text"),
    "half a surrogate": ({"prompt": "\ud800", "completion": "x"}, "half of a surrogate pair"),
    "equal sides": ({"prompt": "Hi", "chosen": "Yes.", "rejected": "Yes. "}, "`chosen` equals `rejected` ('Yes.')"),
    "equal messages": ({"prompt": [USER], "chosen": [GOOD], "rejected": [GOOD]}, "`chosen` equals `rejected`"),
    "no rejected": ({"prompt": "Hi", "chosen": "x"}, "a pair needs both `chosen` and `rejected`"),
    "a typo": ({"promt": "Hi", "completion": "x"}, "`promt`: Did you mean `prompt`?"),
    "no columns we know": ({"a": 1, "b": 2}, "has the columns `a`, `b`"),
    "pair without prompt": ({"chosen": "x", "rejected": "y"}, "a pair needs a prompt column"),
    "no shared prompt": ({"chosen": [USER, GOOD], "rejected": [{**USER, "content": "Ho"}, BAD]}, "share their prompt"),
    "whole and reply": ({"prompt": [USER], "chosen": [USER, GOOD], "rejected": [BAD]}, "make both the same"),
    "another prompt": (
        {"prompt": "Ho", "chosen": [USER, GOOD], "rejected": [USER, BAD]},
        "`prompt` is 'Ho', which is no turn of the conversations",
    ),
    "a role": ({"messages": [{"role": "usr", "content": "Hi"}, GOOD]}, "`messages[0].role` is 'usr'"),
    "nearest role": ({"messages": [{"role": "usr", "content": "Hi"}, GOOD]}, "Did you mean `user`?"),
    "no role": ({"messages": [{"content": "Hi"}, GOOD]}, "`messages[0]` has no role"),
    "no content": ({"messages": [USER, {"role": "assistant"}]}, "`messages[1]` has no `content`"),
    "blank content": ({"messages": [USER, {**GOOD, "content": " "}]}, "`messages[1].content` is empty"),
    "an image": (
        {"messages": [{"role": "user", "content": [{"type": "image", "url": "x"}]}, GOOD]},
        "only parts of type `text`",
    ),
    "no messages": ({"messages": []}, "`messages` is an empty list"),
    "not messages": ({"messages": "Hi"}, "`messages` is 'Hi': must be a list of messages"),
    "assistant first": ({"messages": [GOOD, USER, GOOD]}, "the prompt would be empty"),
    "prompt ends with assistant": ({"prompt": [USER, GOOD], "completion": "x"}, "must end with `user` or `tool`"),
    "response of a user": ({"prompt": [USER], "completion": [USER]}, "starts with role `user`"),
    "a label": ({**FINE, "label": "good"}, "`label` is 'good': a label is true (good) or false (bad)"),
    "a label of 2": ({**FINE, "label": 2}, "`label` is 2: a label is"),
    "scores too few": ({"prompt": "Hi", "responses": ["a", "b"], "scores": [1]}, "must be a list of 2 numbers"),
    "a score of text": ({"prompt": "Hi", "responses": ["a", "b"], "scores": [1, "2"]}, "`scores[1]` is '2'"),
    "a score of NaN": ({"prompt": "Hi", "responses": ["a", "b"], "scores": [1, float("nan")]}, "`scores[1]` is nan"),
    "an infinite score": ({"prompt": "Hi", "responses": ["a"], "scores": [float("inf")]}, "`scores[0]` is inf"),
    "a score beyond floats": ({"prompt": "Hi", "responses": ["a"], "scores": [10**400]}, "must be a finite number"),
    "a role that is a list": ({"messages": [{"role": ["user"], "content": "Hi"}, GOOD]}, "not a role"),
    "a score of true": ({"prompt": "Hi", "responses": ["a"], "scores": [True]}, "`scores[0]` is True"),
    "a rank of 0": ({"prompt": "Hi", "responses": ["a", "b"], "ranks": [0, 1]}, "ranks go from 1 (best) to 2"),
    "no scores": ({"prompt": "Hi", "responses": ["a", "b"]}, "needs a list of `scores` or `ranks`"),
    "no responses": ({"prompt": "Hi", "responses": [], "scores": []}, "must be a list of at least one response"),
    "an empty candidate": ({"prompt": "Hi", "responses": ["a", ""], "scores": [1, 2]}, "`responses[1]` is empty"),
    "objects without score": ({"prompt": "Hi", "responses": [{"text": "a"}]}, "every candidate must have the same one"),
    "objects without text": ({"prompt": "Hi", "responses": [{"score": 1}]}, "has none of text, content"),
    "tools": ({**FINE, "tools": [{"name": "f"}]}, "it would not reach the model"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_row_is_refused_by_file_line_field_and_rule(tmp_path, name):
    row, said = ROWS[name]
    text = message(tmp_path / "data.jsonl", [FINE, row, FINE])
    assert text.startswith("data.jsonl:2: ")
    assert said in text
    assert "The other 2 rows are good." in text


def test_the_first_bad_row_is_told_in_full_and_the_others_are_counted(tmp_path):
    bad = [{"prompt": "", "completion": "x"}, *[{"prompt": "Hi", "completion": ""}] * 7]
    text = message(tmp_path / "data.jsonl", [FINE, *bad, FINE])
    assert text.startswith("data.jsonl:2: `prompt` is empty")
    assert "7 further of 10 rows are bad: data.jsonl:3, data.jsonl:4, data.jsonl:5" in text
    assert "data.jsonl:9" not in text  # the list is cut


def test_a_long_value_is_shortened(tmp_path):
    text = message(tmp_path / "data.jsonl", [{"prompt": ["x" * 1000], "completion": "y"}])
    assert "xxx" in text
    assert len(text) < 300


def test_malformed_json_lines_are_named_by_line_and_column_and_counted(tmp_path):
    text = message(tmp_path / "data.jsonl", '{"prompt": "a", "completion": "b"}\n\n{"prompt": "a" "x"}\n{"prompt\n')
    assert text.startswith("data.jsonl:3: column 16: not valid JSON (Expecting ',' delimiter)")
    assert "1 further of 3 rows is bad: data.jsonl:4." in text


def test_a_malformed_array_is_named_by_line_and_column(tmp_path):
    text = message(tmp_path / "data.json", '[\n{"prompt": "a"},\n{"prompt" "b"}\n]')
    assert re.search(r"data\.json: line 3, column 11: not valid JSON", text)


def test_nested_beyond_reading_is_an_error_of_the_row(tmp_path):
    deep = '{"prompt": ' + "[" * 100_000
    assert message(tmp_path / "data.jsonl", deep).startswith("data.jsonl:1: ")


def test_another_encoding_is_named_with_its_line(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"prompt": "a", "completion": "b"}\n{"prompt": "caf\xe9", "completion": "b"}\n')
    with pytest.raises(DataError, match=r"data\.jsonl:2: byte 16 is 0xe9, which is not UTF-8: save the file as UTF-8"):
        read_records(path)
    path = tmp_path / "data.json"
    path.write_bytes('[{"prompt": "a"}]'.encode("utf-16"))
    with pytest.raises(DataError, match=r"line 1: .*not UTF-8"):
        read_records(path)


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", ""), ("a.jsonl", "\n \n"), ("a.json", ""), ("a.json", "[]")])
def test_an_empty_file(tmp_path, name, content):
    assert "holds no rows" in message(tmp_path / name, content)


def test_mixed_kinds_are_refused_with_their_counts(tmp_path):
    rows = [FINE, FINE, {"prompt": "Hi", "chosen": "a", "rejected": "b"}]
    text = message(tmp_path / "data.jsonl", rows)
    assert text.startswith("data.jsonl:3: reads as `pair`, but data.jsonl:1 as `demonstration`")
    assert "2 demonstration, 1 pair" in text
    assert [r.responses for r in read_records(tmp_path / "data.jsonl", kind="demonstration")][2] == ("a",)


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "pairs.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"pair\.jsonl: no such file\. Did you mean `pairs\.jsonl`\?"):
        read_records(tmp_path / "pair.jsonl")
    with pytest.raises(DataError, match="does not exist either"):
        read_records(tmp_path / "nowhere" / "pairs.jsonl")


def test_files_that_are_not_what_their_name_says(tmp_path):
    (tmp_path / "a.csv").write_text("prompt,completion\n")
    with pytest.raises(DataError, match=r"cannot read files with the ending `\.csv`"):
        read_records(tmp_path / "a.csv")
    (tmp_path / "a.parquet").write_text("not parquet")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_records(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl.gz").write_text("not compressed")
    with pytest.raises(DataError, match="cannot be read"):
        read_records(tmp_path / "a.jsonl.gz")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "a", "completion": "b"}' * 99)[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        read_records(tmp_path / "b.jsonl.gz")


def test_a_folder_without_data_or_without_the_split(tmp_path):
    with pytest.raises(DataError, match="holds no data files"):
        read_records(tmp_path)
    (tmp_path / "train.jsonl").write_text(json.dumps(FINE))
    with pytest.raises(DataError, match="no file is named for the split `test`; there are: train"):
        read_records(tmp_path, split="test")


def test_an_array_must_be_an_array(tmp_path):
    assert "holds a int: must be an array of objects" in message(tmp_path / "a.json", "3")


def test_a_mapped_column_must_exist(tmp_path):
    text = message(tmp_path / "data.jsonl", [{"question": "a"}], columns={"prompt": "quesion"})
    assert text.startswith("data.jsonl:1: has no column `quesion` (asked for as prompt). Did you mean `question`?")


def test_wrong_arguments(tmp_path):
    path = tmp_path / "data.jsonl"
    assert "`promt` is no role. Did you mean `prompt`?" in message(path, [FINE], ConfigError, columns={"promt": "a"})
    assert "Did you mean `pair`?" in message(path, [FINE], ConfigError, kind="pairs")
    assert "limit: 0 rows" in message(path, [FINE], ConfigError, limit=0)


@pytest.mark.parametrize(
    ("row", "kind"),
    [(FINE, "pair"), ({"prompt": "Hi"}, "demonstration"), ({"text": "x"}, "prompt"), (FINE, "candidates")],
)
def test_a_kind_that_the_row_does_not_hold(tmp_path, row, kind):
    text = message(tmp_path / "data.jsonl", [row], kind=kind)
    assert f"cannot be read as `{kind}`" in text


def test_what_was_marked_bad_is_no_demonstration(tmp_path):
    text = message(tmp_path / "data.jsonl", [{**FINE, "label": False}], kind="demonstration")
    assert "marked bad" in text


def test_two_equal_candidates_are_no_pair(tmp_path):
    row = {"prompt": "Hi", "responses": ["a", "b"], "scores": [1, 1]}
    assert "cannot be read as `pair`" in message(tmp_path / "data.jsonl", [row], kind="pair")


def test_unjudged_candidates_are_no_pair(tmp_path):
    row = {"prompt": "Hi", "responses": ["a", "b"], "scores": [None, None]}
    assert "cannot be read as `pair`" in message(tmp_path / "data.jsonl", [row], kind="pair")


def test_a_hub_set_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'groupwise\[hub\]'"):
        read_records("owner/name")


def test_a_hub_set_that_cannot_be_had():
    pytest.importorskip("datasets")
    with pytest.raises(DataError, match=r"owner/no-such-set: no file or folder of this name.*owner/name:config"):
        read_records("owner/no-such-set")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["user", "gpt"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "from", "value", "text", "score", "rank", "type", "tool_calls"]), inner
        )
        | st.builds(lambda a, b: [{"role": "user", "content": a}, {"role": "assistant", "content": b}], inner, inner)
    ),
    max_leaves=6,
)
KNOWN = sorted({name for names in ROLE_COLUMNS.values() for name in names})


@settings(max_examples=400, deadline=None)
@given(
    row=VALUES | st.dictionaries(st.sampled_from(KNOWN), VALUES, max_size=5),
    kind=st.sampled_from([None, *get_args(Kind)]),
)
def test_any_row_is_read_whole_or_refused(row, kind):
    try:
        record = read_row(row, "data.jsonl:1", {}, kind)
    except DataError:
        return
    assert kind in (None, record.kind)
    assert len(record.responses) == len(record.scores)
    assert all(score is None or math.isfinite(score) for score in record.scores)
    assert all(record.responses)
    assert record.kind == "demonstration" or record.prompt


def test_a_score_that_float32_cannot_hold(tmp_path):
    row = {"prompt": "Hi", "responses": ["a", "b"], "scores": [1e39, 1]}
    assert "`scores[0]` is 1e+39: must be a finite number of float32" in message(tmp_path / "a.jsonl", [row])


def test_a_split_that_chooses_nothing(tmp_path):
    said = message(tmp_path / "a.jsonl", [FINE], split="heldout")
    assert "data.split = 'heldout' has no effect on a single file" in said
    with pytest.raises(DataError, match=r"no file is named for a split, so data.split = 'test' has no effect"):
        read_records(tmp_path, split="test")


def test_a_limit_beyond_every_file(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(FINE))
    assert len(read_records(tmp_path / "a.jsonl", limit=10**30)) == 1


def test_what_is_neither_file_nor_folder(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("a.jsonl")
    with pytest.raises(DataError, match="something of this name that is neither a file nor a folder"):
        read_records(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_a_key_that_stands_twice_is_refused(name, tmp_path):
    row = '{"prompt": "1", "prompt": "2", "completion": "3"}'
    path = tmp_path / name
    path.write_text(f"[{row}]" if name.endswith(".json") else row + "\n")
    with pytest.raises(DataError, match="the key `prompt` stands twice in one object"):
        read_records(path)
