"""Judgements of several annotators: one record an item, how sure it is, and how far they agree."""

import sys
from math import log
from random import Random

import pytest

from groupwise.data.annotators import aggregate, agreement
from groupwise.data.rows import read_row
from groupwise.errors import ConfigError, DataError, MissingExtra


def records(*rows):
    return [read_row(row, f"f:{i}", {}, None) for i, row in enumerate(rows, start=1)]


def pair(who, chosen, rejected, prompt="Hi", **more):
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, "annotator": who, **more}


def thumb(who, label, completion="a", prompt="Hi"):
    return {"prompt": prompt, "completion": completion, "label": label, "annotator": who}


def test_the_majority_of_pairs_in_either_order():
    rows = [pair("x", "a", "b"), pair("y", "b", "a"), pair("z", "b", "a", note=1), pair("x", "a", "b", "Ho")]
    found = aggregate(records(*rows), "majority")
    first, second = found.records
    assert (first.kind, first.responses, first.scores) == ("pair", ("b", "a"), (1.0, 0.0))
    assert first.confidence == pytest.approx(2 / 3)
    assert first.annotator is None
    assert first.row["votes"] == {"for": 2, "against": 1}
    assert (first.row["chosen"], first.origin) == ("b", "f:2")  # of a row that says so
    assert (second.prompt, second.confidence) == ("Ho", 1.0)
    assert (found.judgements, found.annotators, found.ties) == (4, 3, ())


def test_the_majority_of_thumbs():
    rows = [thumb("x", 1), thumb("y", 0), thumb("z", 0), thumb("x", 1, "b")]
    first, second = aggregate(records(*rows), "majority").records
    assert (first.kind, first.scores, first.confidence) == ("thumb", (0.0,), pytest.approx(2 / 3))
    assert (second.responses, second.scores, second.confidence) == (("b",), (1.0,), 1.0)


def test_ties_are_left_out_and_told():
    found = aggregate(records(pair("x", "a", "b"), pair("y", "b", "a"), pair("x", "c", "d")), "majority")
    assert [r.responses for r in found.records] == [("c", "d")]
    assert found.ties == ("f:1",)
    assert "3 judgements of 2 annotators became 1 records; 1 tied items are left out: f:1" in str(found)


def test_bradley_terry_is_the_most_likely_strength():
    pytest.importorskip("choix")
    (record,) = aggregate(records(*[pair("x", "a", "b")] * 3, pair("y", "b", "a")), "bradley_terry").records
    assert record.responses == ("a", "b")
    p = record.confidence
    # d/ds of 3 log p + log (1 - p) - 0.1 (s_a^2 + s_b^2) is 0, with s_a = -s_b = half of the log odds
    assert 3 * (1 - p) - p == pytest.approx(2 * 0.1 * log(p / (1 - p)) / 2, abs=1e-4)


def test_bradley_terry_reads_all_comparisons_of_a_prompt():
    pytest.importorskip("choix")
    rows = [pair("x", "a", "b")] * 3 + [pair("y", "b", "c")] * 3 + [pair("z", "c", "a"), pair("z", "a", "d", "Ho")]
    found = {tuple(sorted(r.responses)): r for r in aggregate(records(*rows), "bradley_terry").records}
    assert found["a", "c"].responses == ("a", "c")  # its one vote is outweighed by the way over b
    assert found["a", "c"].row["votes"] == {"for": 0, "against": 1}
    assert 0.5 < found["a", "b"].confidence < 1
    assert found["a", "d"].prompt == "Ho"


def planted(seed=0, items=200):
    """Labels, and what two careful and three careless annotators make of them."""
    random = Random(seed)
    truth = {f"r{i}": random.random() < 0.5 for i in range(items)}
    right = {"careful": 0.97, "thorough": 0.95, "hasty": 0.55, "tired": 0.52, "bored": 0.5}
    rows = [
        thumb(who, label if random.random() < share else not label, response)
        for response, label in truth.items()
        for who, share in right.items()
    ]
    return truth, records(*rows)


def test_dawid_skene_finds_out_who_is_careful():
    pytest.importorskip("crowdkit")
    truth, judged = planted()

    def right(method):
        return sum((r.scores[0] == 1) == truth[r.responses[0]] for r in aggregate(judged, method).records)

    assert right("dawid_skene") >= 190
    assert right("majority") < 185


def test_dawid_skene_of_one_verdict_only():
    pytest.importorskip("crowdkit")
    (record,) = aggregate(records(thumb("x", 1), thumb("y", 1)), "dawid_skene").records
    assert (record.scores, record.confidence) == ((1.0,), pytest.approx(1.0))


@pytest.mark.parametrize("method", ["majority", "dawid_skene", "bradley_terry"])
def test_confidences_are_probabilities_that_can_be_written_and_read(method):
    pytest.importorskip("crowdkit")
    pytest.importorskip("choix")
    random = Random(1)
    rows = [pair(f"w{i % 4}", *random.sample("abcd", 2), f"p{i % 7}") for i in range(90)]
    found = aggregate(records(*rows), method)
    assert found.records
    assert all(0.5 < record.confidence <= 1 for record in found.records)
    votes = sum(sum(record.row["votes"].values()) for record in found.records)
    assert votes <= found.judgements == 90


def test_agreement_is_the_share_of_equal_pairs_of_judgements():
    rows = [thumb("x", 1), thumb("y", 1), thumb("z", 0), thumb("x", 1, "b"), thumb("y", 1, "b"), thumb("x", 0, "c")]
    found = agreement(records(*rows))
    assert (found.annotators, found.judgements, found.items) == (3, 6, 2)
    assert found.observed == pytest.approx((1 / 3 + 1) / 2)
    assert agreement(records({"prompt": "Hi", "completion": "a", "label": 1})) is None


def test_krippendorffs_alpha():
    pytest.importorskip("crowdkit")
    verdicts = {"a": (1, 1), "b": (0, 0), "c": (1, 0)}
    rows = [thumb(who, label, r) for r, labels in verdicts.items() for who, label in zip("xy", labels, strict=True)]
    # 1 - (n - 1) (observed disagreements) / (expected): 1 - 5 * 2 / (2 * 3 * 3)
    assert agreement(records(*rows)).alpha == pytest.approx(1 - 5 * 2 / 18)
    assert agreement(records(thumb("x", 1), thumb("y", 1))).note == "all judgements are equal"


def test_alpha_of_pairs_does_not_depend_on_the_alphabet():
    pytest.importorskip("crowdkit")
    rows = [pair(who, "good", "bad", f"p{i}") for i in range(40) for who in "xyz"]
    rows += [
        pair(who, *(("good", "bad") if who == "x" else ("bad", "good")), f"q{i}") for i in range(5) for who in "xy"
    ]
    found = agreement(records(*rows))
    assert found.observed == pytest.approx(40 / 45)
    assert found.alpha > 0.75  # by an order of the texts all would choose the same side, and agree by chance


def test_majority_and_agreement_need_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", None)
    monkeypatch.setitem(sys.modules, "crowdkit.metrics.data", None)
    monkeypatch.setitem(sys.modules, "choix", None)
    rows = records(pair("x", "a", "b"), pair("y", "b", "a"), pair("z", "b", "a"))
    assert aggregate(rows, "majority").records
    assert "groupwise[annotators]" in agreement(rows).note
    for method in ("dawid_skene", "bradley_terry"):
        with pytest.raises(MissingExtra, match=r"groupwise\[annotators\]"):
            aggregate(rows, method)


@pytest.mark.parametrize(
    ("row", "method", "said"),
    [
        ({"prompt": "Hi", "chosen": "a", "rejected": "b"}, "majority", "f:1: has no annotator"),
        (pair("x", "a", "b", confidence=0.9), "majority", "has confidence 0.9 beside an annotator"),
        (thumb("x", 1), "bradley_terry", "of kind `thumb`, data.annotators = 'bradley_terry' aggregates pairs:"),
        ({"prompt": "Hi", "completion": "a"}, "majority", "aggregates pairs and thumbs"),
    ],
)
def test_rows_that_cannot_be_joined_are_refused(row, method, said):
    with pytest.raises(DataError, match=said):
        aggregate(records(row), method)


def test_an_unknown_method():
    with pytest.raises(ConfigError, match="must be one of 'majority', 'dawid_skene', 'bradley_terry'"):
        aggregate([], "mean")
