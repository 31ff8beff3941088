"""`groupwise check` and `groupwise convert` as a user runs them."""

import json

import pytest

from groupwise.cli.main import main
from groupwise.data.records import read_records
from groupwise.models.tiny import make_tiny

PAIRS = [
    {"prompt": "1+1=", "chosen": "2", "rejected": "33"},
    {"prompt": "1+1=", "chosen": "2", "rejected": "4"},
    {"prompt": "2+2=", "chosen": "4", "rejected": "5"},
]
LISTS = [{"prompt": "1+1=", "responses": ["2", "3", "4"], "scores": [1, 0.2, 0]}]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_check_as_json_says_what_the_file_holds(tmp_path, capsys):
    assert main(["check", write(tmp_path / "a.jsonl", PAIRS), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["sound"], found["rows"], found["bad_rows"], found["bad"]) == ("pair", True, 3, 0, [])
    assert found["length_bias"]["share"] == {"value": 0.0, "low": 0.0, "high": pytest.approx(0.793, abs=1e-3)}
    assert found["duplicates"] == {"count": 0, "examples": []}


def test_bad_rows_make_the_exit_status_1_and_all_are_told(tmp_path, capsys):
    file = write(tmp_path / "a.jsonl", [*PAIRS, {"prompt": "", "completion": "x"}, {"prompt": 3}])
    assert main(["check", file]) == 1
    shown = capsys.readouterr().out
    assert "a.jsonl:4: `prompt` is empty" in shown
    assert "a.jsonl:5: `prompt` is 3" in shown
    assert main(["check", file, "--show", "1"]) == 1
    assert "and 1 more bad rows" in capsys.readouterr().out


def test_check_with_a_model_shows_a_row_as_it_is_trained(tmp_path, capsys):
    model = str(make_tiny(tmp_path / "tiny"))
    arguments = ["check", write(tmp_path / "a.jsonl", PAIRS), "--model", model, "--max-response-tokens", "2"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "lengths in tokens" in shown
    assert "⟦2" in shown
    assert "1 (16.7 %)" in shown  # "33" and its end token


def test_check_takes_the_settings_of_a_recipes_data_section(tmp_path, capsys):
    file = write(tmp_path / "a.jsonl", [{"ask": "1+1=", "say": "2"}])
    arguments = ["check", file, "--json", "--data.columns.prompt", "ask", "--data.columns.response", "say"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "demonstration"


@pytest.mark.parametrize("to", ["thumbs", "lists"])
def test_convert_writes_rows_that_read_as_that_kind(tmp_path, capsys, to):
    out = tmp_path / "made" / "b.jsonl"
    assert main(["convert", write(tmp_path / "a.jsonl", PAIRS), str(out), "--to", to, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    records = read_records(out)
    assert said["read"] == 3
    assert said["written"] == len(records) == {"thumbs": 5, "lists": 2}[to]
    assert records[0].kind == {"thumbs": "thumb", "lists": "candidates"}[to]
    assert [entry["count"] for entry in said["left_out"].values()] == {"thumbs": [1], "lists": []}[to]


def test_convert_says_what_it_left_out_and_why(tmp_path, capsys):
    out = tmp_path / "b.jsonl"
    assert main(["convert", write(tmp_path / "a.jsonl", LISTS), str(out), "--to", "pairs", "--margin", "0.5"]) == 0
    shown = capsys.readouterr().out
    assert "2 pairs from 1 rows" in shown
    assert "left out: 1 times a pair of scores closer than 0.5, the first in a.jsonl:1" in shown
    assert [record.responses for record in read_records(out)] == [("2", "3"), ("2", "4")]


def test_convert_joins_annotators_first(tmp_path, capsys):
    rows = [{**PAIRS[0], "annotator": who} for who in "xyz"] + [
        {**PAIRS[2], "annotator": "x"},
        {**PAIRS[2], "chosen": "5", "rejected": "4", "annotator": "y"},
    ]
    arguments = ["convert", write(tmp_path / "a.jsonl", rows), str(tmp_path / "b.jsonl"), "--to", "thumbs"]
    assert main([*arguments, "--data.annotators", "majority"]) == 0
    assert "1 tied items are left out: a.jsonl:4" in capsys.readouterr().out
    assert [(r.scores, r.confidence) for r in read_records(tmp_path / "b.jsonl")] == [((1.0,), 1.0), ((0.0,), 1.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "b.jsonl"], "no such file"),
        (["check", "a.jsonl", "--max-prompt-tokens", "3"], "name the model whose tokenizer counts them"),
        (["check", "a.jsonl", "--data.chat", "false"], "no effect without --model"),
        (["check", "a.jsonl", "--data.kin", "pair"], "Did you mean `data.kind`?"),
        (["check", "a.jsonl", "--data.annotators", "majority"], "is no setting of this verb"),
        (["check", "a.jsonl", "--show", "-1"], "--show -1: must be 0 or more"),
        (["convert", "a.jsonl", "a.jsonl", "--to", "thumbs"], "a.jsonl exists"),
        (["convert", "a.jsonl", "b.csv", "--to", "thumbs"], "name a file that ends in .jsonl"),
        (["convert", "a.jsonl", "b.jsonl", "--to", "pairs"], "of kind `pair`, and pairs are made from"),
        (["convert", "a.jsonl", "b.jsonl", "--to", "lists", "--margin", "1"], "no effect with --to lists"),
        (
            ["convert", "c.jsonl", "b.jsonl", "--to", "pairs", "--margin", "9"],
            "no pairs can be made of its 1 rows: 3 t",
        ),
    ],
)
def test_mistakes_get_one_clear_line_and_write_nothing(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", PAIRS)
    write(tmp_path / "c.jsonl", LISTS)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "c.jsonl"]
