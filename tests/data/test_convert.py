"""Conversions keep exactly the preferences that the rows hold, and count what they cannot carry over."""

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupwise.data.convert import convert, lists_from_pairs, pairs_from_scores, row_of, thumbs_from_pairs
from groupwise.data.records import read_records
from groupwise.data.rows import read_row
from groupwise.errors import ConfigError, DataError


def records(*rows):
    return [read_row(row, f"f:{i}", {}, None) for i, row in enumerate(rows, start=1)]


def pair(chosen, rejected, prompt="Hi", **more):
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, **more}


def scored(responses, scores, **more):
    return {"prompt": "Hi", "responses": list(responses), "scores": scores, **more}


def counts(found):
    return {why: len(origins) for why, origins in found.left_out.items()}


def test_pairs_are_all_that_scores_tell_apart():
    found = pairs_from_scores(records(scored("abcd", [1, 3, 1, None], source="x", confidence=0.8)))
    assert [r.responses for r in found.records] == [("b", "a"), ("b", "c")]
    assert {(r.kind, r.scores, r.origin, r.confidence) for r in found.records} == {("pair", (1.0, 0.0), "f:1", 0.8)}
    assert counts(found) == {"a response without a score": 1, "a pair of equal scores": 1}


def test_a_margin_leaves_out_pairs_that_are_closer():
    found = pairs_from_scores(records(scored("abc", [0, 1, 3])), margin=2)
    assert [r.responses for r in found.records] == [("c", "a"), ("c", "b")]
    assert found.left_out == {"a pair of scores closer than 2": ("f:1",)}


def test_ranks_are_a_step_apart():
    found = pairs_from_scores(records({"prompt": "Hi", "responses": list("abc"), "ranks": [3, 1, 2]}), margin=2)
    assert [r.responses for r in found.records] == [("b", "a")]


def test_equal_responses_with_different_scores_are_no_pair():
    found = pairs_from_scores(records(scored("aa", [1, 2]), scored("a", [1])))
    assert counts(found) == {"a pair of equal responses": 1, "a row with fewer than two scores": 1}


def test_a_pair_is_two_thumbs_and_repeats_are_one():
    found = thumbs_from_pairs(records(pair("a", "b", confidence=0.9), pair("a", "c"), pair("a", "b", "Ho")))
    labels = [(r.prompt, r.responses[0], r.scores[0], r.confidence) for r in found.records]
    assert labels == [
        ("Hi", "a", 1.0, 0.9),
        ("Hi", "b", 0.0, 0.9),
        ("Hi", "c", 0.0, None),
        ("Ho", "a", 1.0, None),
        ("Ho", "b", 0.0, None),
    ]
    assert found.left_out == {"a response that had the same label before": ("f:2",)}


def test_a_response_chosen_here_and_rejected_there_is_no_thumb():
    found = thumbs_from_pairs(records(pair("a", "b"), pair("b", "c")))
    assert [r.responses for r in found.records] == [("a",), ("c",)]
    assert found.left_out == {"a response that is chosen in one pair and rejected in another": ("f:1", "f:2")}


LISTS = {
    "a chain": ([("a", "b"), ("b", "c")], {"a": 2, "b": 1, "c": 0}),
    "a star": ([("a", "b"), ("a", "c")], {"a": 1, "b": 0, "c": 0}),
    "repeated": ([("a", "b"), ("a", "b")], {"a": 1, "b": 0}),
    "two above two": ([("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")], {"a": 1, "b": 1, "c": 0, "d": 0}),
}


@pytest.mark.parametrize("name", LISTS)
def test_pairs_of_a_prompt_become_one_list(name):
    pairs, scores = LISTS[name]
    for order in permutations(pairs):
        (record,) = lists_from_pairs(records(*(pair(*sides) for sides in order))).records
        assert record.kind == "candidates"
        assert dict(zip(record.responses, record.scores, strict=True)) == scores


OPEN = {
    "contradict": [("a", "b"), ("b", "a")],
    "contradict each other": [("a", "b"), ("b", "c"), ("c", "a")],
    "leave the order open": [("a", "b"), ("c", "d"), ("d", "e")],
}


@pytest.mark.parametrize("why", OPEN)
def test_pairs_without_an_order_are_left_out_and_counted(why):
    found = lists_from_pairs(records(*(pair(*sides) for sides in OPEN[why]), pair("x", "y", "Ho")))
    assert [r.prompt for r in found.records] == ["Ho"]
    ((said, origins),) = found.left_out.items()
    assert why in said
    assert len(origins) == len(OPEN[why])


@given(st.lists(st.integers(0, 4), min_size=2, max_size=6).filter(lambda scores: len(set(scores)) > 1))
def test_a_list_taken_apart_and_put_together_has_the_same_preferences(scores):
    row = scored([f"r{i}" for i in range(len(scores))], scores)
    (record,) = lists_from_pairs(pairs_from_scores(records(row)).records).records
    assert pairs_by_text(record) == pairs_by_text(*records(row))


def pairs_by_text(record):
    its = list(zip(record.responses, record.scores, strict=True))
    return {(high, low) for high, more in its for low, less in its if more > less}


def test_a_list_keeps_what_its_rows_share_and_the_lowest_confidence():
    rows = (pair("a", "b", source="s", n=1, confidence=0.9), pair("a", "c", source="s", n=2, confidence=0.7))
    (record,) = lists_from_pairs(records(*rows)).records
    assert record.confidence == 0.7
    assert row_of(record)["source"] == "s"
    assert "n" not in row_of(record)


USER = {"role": "user", "content": "Hi"}
ROWS = [
    pair("a", "b", source="s", confidence=0.9, annotator="x"),
    pair([{"role": "assistant", "content": "a"}], [{"role": "assistant", "content": "b"}], [USER]),
    {
        "chosen": [USER, {"role": "assistant", "content": "a"}],
        "rejected": [USER, {"role": "assistant", "content": "b"}],
    },
    {"instruction": "Hi", "input": "you", "system": "Be kind.", "output": "a", "label": False},
    {"question": "Hi", "candidates": [{"text": "a", "score": 1}, {"text": "b", "score": None}]},
    {"prompt": "Hi", "responses": ["a", "b"], "ranks": [2, 1]},
]


@pytest.mark.parametrize("row", ROWS)
def test_a_record_written_reads_as_the_same_record(row, tmp_path):
    (record,) = records(row)
    (tmp_path / "f.jsonl").write_text(json.dumps(row_of(record)))
    (again,) = read_records(tmp_path / "f.jsonl")
    for name in ("kind", "prompt", "responses", "scores", "confidence", "annotator"):
        assert getattr(again, name) == getattr(record, name)
    assert again.row.get("source") == row.get("source")


@pytest.mark.parametrize(
    ("to", "row", "said"),
    [
        ("pairs", pair("a", "b"), "f:1: this row is of kind `pair`, and pairs are made from scored or ranked"),
        ("thumbs", scored("ab", [1, 2]), "convert these to pairs first"),
        ("lists", {"prompt": "Hi", "completion": "a"}, "of kind `demonstration`, and lists are made from pairs"),
    ],
)
def test_rows_of_another_kind_are_refused(to, row, said):
    with pytest.raises(DataError, match=said):
        convert(records(row), to)


def test_settings_without_sense_are_refused():
    with pytest.raises(ConfigError, match="Did you mean `pairs`"):
        convert([], "pair")
    with pytest.raises(ConfigError, match="--margin 1 has no effect with --to lists"):
        convert(records(pair("a", "b")), "lists", margin=1.0)
    with pytest.raises(ConfigError, match="margin = nan"):
        convert([], "pairs", margin=float("nan"))
