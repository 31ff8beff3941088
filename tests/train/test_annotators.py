"""A run on several annotators' judgements trains on their verdicts and says what became of the ties."""

import json

import pytest

from groupwise.errors import ConfigError, DataError
from groupwise.recipe import recipe_of
from groupwise.runner import Runner
from groupwise.runs.read import read_run


def judgements(tied):
    """Three annotators on 12 sums; of the `tied` first sums the third says nothing."""
    for a in range(12):
        good, bad = str(a), str(a + 1)
        yield {"prompt": f"{a}+0=", "chosen": good, "rejected": bad, "annotator": "x"}
        yield {"prompt": f"{a}+0=", "chosen": bad, "rejected": good, "annotator": "y"}
        if a >= tied:
            yield {"prompt": f"{a}+0=", "chosen": good, "rejected": bad, "annotator": "z"}


def recipe(tmp_path, *, tied=0, objective="dpo", **data):
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judgements(tied)))
    return recipe_of(
        {
            "model": {"path": "tiny"},
            "objective": {"name": objective},
            "data": {"path": str(tmp_path / "data.jsonl"), "annotators": "majority", **data},
            "train": {"steps": 1, "groups_per_step": 4},
        }
    )


@pytest.mark.parametrize(("tied", "level"), [(0, "info"), (2, "warning")])
def test_the_run_trains_on_the_verdicts_and_tells_of_ties(tmp_path, tied, level):
    list(Runner(recipe(tmp_path, tied=tied), tmp_path / "run").steps())
    (event,) = [event for event in read_run(tmp_path / "run").events() if event.kind == "annotators"]
    assert event.level == level
    assert f"{36 - tied} judgements of 3 annotators became {12 - tied} records" in event.message
    assert ("data.jsonl:1, data.jsonl:3" in event.message) == bool(tied)


def test_the_groups_have_the_votes_share_as_confidence(tmp_path):
    runner = Runner(recipe(tmp_path), tmp_path / "run")
    list(runner.steps())
    groups = runner.source.groups
    assert all(c.confidence == pytest.approx(2 / 3) for group in groups for c in group.completions)
    assert all(group.completions[0].text == group.row["chosen"] for group in groups)


def test_nothing_but_ties_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"12 tied items are left out: .*nothing is left to train on"):
        Runner(recipe(tmp_path, tied=12), tmp_path / "run")


def test_sft_has_no_use_for_verdicts(tmp_path):
    with pytest.raises(ConfigError, match=r"data\.annotators = 'majority' has no effect: demonstrations are learned"):
        Runner(recipe(tmp_path, objective="sft"), tmp_path / "run")


def test_thumbs_are_for_kto(tmp_path):
    (tmp_path / "thumbs.jsonl").write_text('{"prompt": "1+1=", "completion": "2", "label": true}\n' * 4)
    with pytest.raises(DataError, match=r"thumbs\.jsonl:1: these rows are of kind `thumb`.*use objective.name: kto"):
        Runner(recipe(tmp_path, path=str(tmp_path / "thumbs.jsonl"), annotators=None), tmp_path / "run")
