"""A row's confidence, from its column to the tensor that objectives read."""

import json

import pytest
import torch

from groupwise.data.batch import collate
from groupwise.data.records import read_records
from groupwise.data.render import Renderer
from groupwise.data.rows import read_row
from groupwise.errors import DataError
from groupwise.models.load import load_tokenizer
from groupwise.models.tiny import make_tiny

PAIR = {"prompt": "1+1=", "chosen": "2", "rejected": "3"}
THUMB = {"prompt": "1+1=", "completion": "2", "label": True}
LIST = {"prompt": "1+1=", "responses": ["2", "3"], "scores": [1, 0]}


@pytest.fixture(scope="module")
def renderer(tmp_path_factory):
    return Renderer(load_tokenizer(make_tiny(tmp_path_factory.mktemp("tiny") / "model")))


def read(row, kind=None):
    return read_row(row, "f:1", {}, kind)


@pytest.mark.parametrize("row", [PAIR, THUMB, LIST])
def test_a_judged_row_may_say_how_sure_it_is_and_who_judged(row):
    assert (read(row).confidence, read(row).annotator) == (None, None)
    record = read({**row, "confidence": 0.75, "annotator": 7})
    assert (record.confidence, record.annotator) == (0.75, "7")


def test_the_tensor_has_every_rows_confidence_and_is_certain_of_the_others(renderer):
    rows = [{**PAIR, "confidence": 0.75}, PAIR, {**THUMB, "confidence": 1}]
    batch = collate([renderer.group(read(row)) for row in rows])
    assert torch.equal(batch.candidates.confidence, torch.tensor([0.75, 0.75, 1.0, 1.0, 1.0]))


def test_no_row_with_a_confidence_gives_no_tensor(renderer):
    assert collate([renderer.group(read(row)) for row in (PAIR, THUMB)]).candidates.confidence is None


def test_the_doubt_of_a_pair_is_read_from_its_row(renderer):
    step = collate([renderer.group(read({**PAIR, "confidence": 0.75}))]).candidates
    assert step.doubt(*step.pairs()).tolist() == [0.25]


@pytest.mark.parametrize("value", [0.5, 0, 1.01, "high", True, float("nan"), [0.9]])
def test_what_is_no_such_probability_is_refused(value):
    with pytest.raises(DataError, match=r"`confidence` is .*: must be the probability .* above 0.5 and at most 1"):
        read({**PAIR, "confidence": value})


@pytest.mark.parametrize("value", ["", True, 0.5, ["x"]])
def test_what_is_no_annotator_is_refused(value):
    with pytest.raises(DataError, match=r"`annotator` is .*: must be a name or a number"):
        read({**PAIR, "annotator": value})


def test_a_confidence_in_some_rows_only_is_refused(tmp_path):
    rows = [{**PAIR, "confidence": 0.75}, PAIR, PAIR]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"a\.jsonl:2: has no confidence, but a\.jsonl:1 has 0\.75: give every row"):
        read_records(tmp_path / "a.jsonl")
    assert len(read_records(tmp_path / "a.jsonl", limit=1)) == 1


def test_rows_that_judge_nothing_may_use_the_columns_as_they_like():
    record = read({"prompt": "1+1=", "completion": "2", "confidence": "high", "annotator": {"id": 3}})
    assert (record.kind, record.confidence, record.annotator) == ("demonstration", None, None)


def test_a_demonstration_made_of_a_judged_row_has_no_doubt():
    assert read({**PAIR, "confidence": 0.75}, "demonstration").confidence is None
    assert read({**PAIR, "confidence": 0.75}, "candidates").confidence == 0.75
