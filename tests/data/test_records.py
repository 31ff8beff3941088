"""What every kind of row is read as."""

import gzip
import json

import pyarrow
import pyarrow.parquet
import pytest

from groupwise.data.files import hub_rows
from groupwise.data.records import read_records

USER = {"role": "user", "content": "Hi"}
GOOD = {"role": "assistant", "content": "Hello!"}
BAD = {"role": "assistant", "content": "What?"}
NEXT = {"role": "user", "content": "Bye"}
SYSTEM = {"role": "system", "content": "Be kind."}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_one(tmp_path, row, **how):
    (record,) = read_records(write(tmp_path / "data.jsonl", [row]), **how)
    assert record.origin == "data.jsonl:1"
    return record


DEMONSTRATIONS = {
    "prompt, completion": ({"prompt": "Hi", "completion": "Hello!"}, "Hi", "Hello!"),
    "question, response": ({"question": "Hi", "response": "Hello!"}, "Hi", "Hello!"),
    "instruction, output": ({"instruction": "Hi", "input": "", "output": "Hello!"}, "Hi", "Hello!"),
    "instruction, input, output": ({"instruction": "Add", "input": "1 2", "output": "3"}, "Add\n\n1 2", "3"),
    "input, output": ({"input": "Hi", "output": "Hello!"}, "Hi", "Hello!"),
    "text": ({"text": "Once."}, "", "Once."),
    "messages": ({"messages": [SYSTEM, USER, GOOD]}, (SYSTEM, USER), (GOOD,)),
    "several turns": ({"messages": [USER, GOOD, NEXT, BAD]}, (USER,), (GOOD, NEXT, BAD)),
    "message columns": ({"prompt": [USER], "completion": [GOOD]}, (USER,), (GOOD,)),
    "one message": ({"prompt": [USER], "completion": GOOD}, (USER,), (GOOD,)),
    "conversations": (
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello!"}]},
        (USER,),
        (GOOD,),
    ),
    "system column": ({"system": "Be kind.", "prompt": "Hi", "completion": "Hello!"}, (SYSTEM, USER), "Hello!"),
    "system column, messages": ({"system": "Be kind.", "messages": [USER, GOOD]}, (SYSTEM, USER), (GOOD,)),
    "empty system": ({"system": "", "prompt": "Hi", "completion": "Hello!"}, "Hi", "Hello!"),
    "nulls": ({"prompt": "Hi", "completion": "Hello!", "chosen": None, "messages": None}, "Hi", "Hello!"),
}


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_demonstrations(tmp_path, name):
    row, prompt, response = DEMONSTRATIONS[name]
    record = read_one(tmp_path, row)
    assert (record.kind, record.prompt, record.responses, record.scores) == (
        "demonstration",
        prompt,
        (response,),
        (1.0,),
    )
    assert record.row == row


PAIRS = {
    "text": ({"prompt": "Hi", "chosen": "Hello!", "rejected": "What?"}, "Hi", "Hello!", "What?"),
    "messages": ({"prompt": [USER], "chosen": [GOOD], "rejected": [BAD]}, (USER,), (GOOD,), (BAD,)),
    "ShareGPT": (
        {
            "conversations": [{"from": "human", "value": "Hi"}],
            "chosen": {"from": "gpt", "value": "Hello!"},
            "rejected": {"from": "gpt", "value": "What?"},
        },
        (USER,),
        (GOOD,),
        (BAD,),
    ),
    "whole conversations": ({"chosen": [USER, GOOD], "rejected": [USER, BAD]}, (USER,), (GOOD,), (BAD,)),
    "whole conversations beside their prompt": (
        {"prompt": "Hi", "chosen": [USER, GOOD], "rejected": [USER, BAD], "messages": [USER, GOOD]},
        (USER,),
        (GOOD,),
        (BAD,),
    ),
    "parting in the second reply": (
        {"chosen": [USER, GOOD, NEXT, GOOD], "rejected": [USER, GOOD, NEXT, BAD]},
        (USER, GOOD, NEXT),
        (GOOD,),
        (BAD,),
    ),
    "parting in the first reply": (
        {"chosen": [USER, GOOD, NEXT, GOOD], "rejected": [USER, BAD, NEXT, GOOD]},
        (USER,),
        (GOOD, NEXT, GOOD),
        (BAD, NEXT, GOOD),
    ),
    "one goes on where the other ends": (
        {"chosen": [USER, GOOD, NEXT, BAD], "rejected": [USER, GOOD]},
        (USER,),
        (GOOD, NEXT, BAD),
        (GOOD,),
    ),
    "transcripts": (
        {"chosen": "\n\nHuman: Hi\n\nAssistant: Hello", "rejected": "\n\nHuman: Hi\n\nAssistant: He"},
        "\n\nHuman: Hi\n\nAssistant:",
        " Hello",
        " He",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(tmp_path, name):
    row, prompt, chosen, rejected = PAIRS[name]
    record = read_one(tmp_path, row)
    assert (record.kind, record.prompt, record.responses) == ("pair", prompt, (chosen, rejected))
    assert record.scores == (1.0, 0.0)


CANDIDATES = {
    "scores": ({"responses": ["a", "b", "c"], "scores": [0.5, None, 2]}, (0.5, None, 2.0)),
    "rewards": ({"completions": ["a", "b", "c"], "rewards": [0, 1, 1]}, (0.0, 1.0, 1.0)),
    "ranks: 1 is best": ({"candidates": ["a", "b", "c"], "ranks": [2, 1, 3]}, (1.0, 2.0, 0.0)),
    "ties": ({"candidates": ["a", "b", "c"], "ranking": [1.5, 1.5, 3]}, (1.5, 1.5, 0.0)),
    "objects": (
        {"responses": [{"text": "a", "score": 1}, {"text": "b", "score": 2}, {"text": "c", "score": None}]},
        (1.0, 2.0, None),
    ),
    "ranked objects": (
        {"responses": [{"answer": "a", "rank": 3}, {"answer": "b", "rank": 1}, {"answer": "c", "rank": 2}]},
        (0.0, 2.0, 1.0),
    ),
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates(tmp_path, name):
    row, scores = CANDIDATES[name]
    record = read_one(tmp_path, {"prompt": "Hi", **row})
    assert (record.kind, record.responses, record.scores) == ("candidates", ("a", "b", "c"), scores)


def test_a_rank_of_two_scores_as_a_pair(tmp_path):
    record = read_one(tmp_path, {"prompt": "Hi", "responses": ["a", "b"], "ranks": [1, 2]})
    assert record.scores == read_one(tmp_path, {"prompt": "Hi", "chosen": "a", "rejected": "b"}).scores


@pytest.mark.parametrize(("label", "score"), [(True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0)])
def test_a_label_makes_a_group_of_one(tmp_path, label, score):
    record = read_one(tmp_path, {"prompt": "Hi", "completion": "Hello!", "label": label})
    assert (record.kind, record.responses, record.scores) == ("thumb", ("Hello!",), (score,))


def test_the_label_of_a_conversation_judges_its_last_turn(tmp_path):
    record = read_one(tmp_path, {"messages": [USER, GOOD, NEXT, BAD], "label": False})
    assert (record.prompt, record.responses, record.scores) == ((USER, GOOD, NEXT), ((BAD,),), (0.0,))


@pytest.mark.parametrize("column", ["answer", "solution", "ground_truth", "final_answer"])
def test_a_prompt_keeps_its_answer_where_rewards_find_it(tmp_path, column):
    record = read_one(tmp_path, {"problem": "6*7", column: "42", "level": 3})
    assert (record.kind, record.prompt, record.responses, record.scores) == ("prompt", "6*7", (), ())
    assert record.row == {"problem": "6*7", column: "42", "level": 3, "answer": "42"}


def test_the_answer_of_a_worked_solution_is_what_stands_after_the_hashes(tmp_path):
    solution = "6*7 = <<6*7=42>>42 eggs.\n#### 42"
    row = {"question": "6*7?", "answer": solution}
    record = read_one(tmp_path, row)
    assert (record.kind, record.row["answer"], record.row["answer_text"]) == ("prompt", "42", solution)
    demonstration = read_one(tmp_path, row, kind="demonstration")
    assert (demonstration.responses, demonstration.row["answer"]) == ((solution,), "42")


def test_a_conversation_that_waits_for_a_reply_is_a_prompt(tmp_path):
    record = read_one(tmp_path, {"messages": [SYSTEM, USER]})
    assert (record.kind, record.prompt) == ("prompt", (SYSTEM, USER))


PAIR = {"prompt": "Hi", "chosen": "Hello!", "rejected": "What?"}
SCORED = {"prompt": "Hi", "responses": ["a", "b"], "scores": [1, 3]}
FORCED = {
    "pair as demonstration": (PAIR, "demonstration", ("Hello!",), (1.0,)),
    "pair as candidates": (PAIR, "candidates", ("Hello!", "What?"), (1.0, 0.0)),
    "pair as prompt": (PAIR, "prompt", (), ()),
    "demonstration as prompt": ({"prompt": "Hi", "completion": "Hello!"}, "prompt", (), ()),
    "best candidate as demonstration": (SCORED, "demonstration", ("b",), (1.0,)),
    "two candidates as pair": (SCORED, "pair", ("b", "a"), (1.0, 0.0)),
}


@pytest.mark.parametrize("name", FORCED)
def test_kind_forces_a_reading(tmp_path, name):
    row, kind, responses, scores = FORCED[name]
    record = read_one(tmp_path, row, kind=kind)
    assert (record.kind, record.prompt, record.responses, record.scores) == (kind, "Hi", responses, scores)


def test_columns_map_roles_to_unusual_names(tmp_path):
    row = {"ask": "6*7", "say": "42", "prompt": "not this"}
    record = read_one(tmp_path, row, columns={"prompt": "ask", "response": "say"})
    assert (record.kind, record.prompt, record.responses) == ("demonstration", "6*7", ("42",))
    record = read_one(tmp_path, row, columns={"prompt": "ask", "answer": "say"})
    assert (record.kind, record.row["answer"]) == ("prompt", "42")


def test_content_in_text_parts_is_joined_and_null_keys_are_left_out(tmp_path):
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo!"}]
    reply = {"role": "assistant", "content": parts, "name": None}
    assert read_one(tmp_path, {"prompt": [USER], "completion": [reply]}).responses == ((GOOD,),)


ROWS = [{"prompt": f"{a}+1=", "completion": f"{a + 1}\u2028"} for a in range(5)]  # a line separator is no line break


def as_parquet(path):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)


WRITERS = {
    "a.jsonl": lambda path: path.write_text("\n\n".join(json.dumps(r, ensure_ascii=False) for r in ROWS), "utf-8"),
    "a.json": lambda path: path.write_text(json.dumps(ROWS), "utf-8"),
    "lines.json": lambda path: path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8"),
    "bom.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8-sig"),
    "bom.json": lambda path: path.write_text(json.dumps(ROWS), "utf-8-sig"),
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode())),
    "a.json.gz": lambda path: path.write_bytes(gzip.compress(json.dumps(ROWS).encode())),
    "a.parquet": as_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_records(tmp_path, name):
    WRITERS[name](tmp_path / name)
    records = read_records(tmp_path / name)
    assert [{"prompt": r.prompt, "completion": r.responses[0]} for r in records] == ROWS
    numbers = range(1, 10, 2) if name == "a.jsonl" else range(1, 6)  # blank lines count as lines
    assert [r.origin for r in records] == [f"{name}:{n}" for n in numbers]


def test_limit_reads_the_first_rows_only(tmp_path):
    path = write(tmp_path / "data.jsonl", [*ROWS, {"broken": True}])
    assert [record.prompt for record in read_records(path, limit=5)] == [row["prompt"] for row in ROWS]


def test_a_folder_is_read_in_order_of_its_files_names(tmp_path):
    write(tmp_path / "b.jsonl", ROWS[2:])
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(ROWS[:2]))
    as_parquet(tmp_path / "inner" / "c.parquet")
    (tmp_path / "notes.md").write_text("not data")
    records = read_records(tmp_path)
    assert [r.prompt for r in records] == [row["prompt"] for row in ROWS * 2]
    assert [r.origin for r in records[::4]] == ["a.json:1", "b.jsonl:3", "inner/c.parquet:4"]


def test_of_a_folder_with_splits_only_the_one_asked_for_is_read(tmp_path):
    write(tmp_path / "train-00000.jsonl", ROWS[:3])
    write(tmp_path / "train-00001.jsonl", ROWS[3:4])
    write(tmp_path / "test.jsonl", ROWS[4:])
    assert [r.prompt for r in read_records(tmp_path)] == [row["prompt"] for row in ROWS[:4]]
    assert [r.prompt for r in read_records(tmp_path, split="test")] == [ROWS[4]["prompt"]]


def test_the_row_of_a_parquet_file_keeps_its_nested_values(tmp_path):
    rows = [{"messages": [USER, GOOD], "meta": {"ids": [1, 2]}}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    (record,) = read_records(tmp_path / "a.parquet")
    assert record.prompt == (USER,)
    assert record.row["meta"] == {"ids": [1, 2]}


def test_a_hub_set_reads_as_a_file_does(tmp_path, monkeypatch):
    """`datasets` takes a folder for a hub name too, so the real reader runs without a network."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "name").mkdir(parents=True)
    write(tmp_path / "owner" / "name" / "train.jsonl", ROWS[:3])
    write(tmp_path / "owner" / "name" / "test.jsonl", ROWS[3:])
    rows = list(hub_rows("owner/name", "test"))
    assert [row.value for row in rows] == ROWS[3:]
    assert [row.origin for row in rows] == ["owner/name:1", "owner/name:2"]
