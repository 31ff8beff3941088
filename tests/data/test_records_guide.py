"""The data guide's example rows are read as it says, and its table of columns is the reader's."""

import json
import re
from pathlib import Path

import pytest

from groupwise.data.columns import ROLE_COLUMNS
from groupwise.data.rows import read_row

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| (\w+) \| `(\{.*?\})` \| (.+?) \|", GUIDE, flags=re.MULTILINE)


@pytest.mark.parametrize(("kind", "row", "scores"), EXAMPLES)
def test_an_example_row_is_of_the_kind_and_has_the_scores_that_the_guide_says(kind, row, scores):
    record = read_row(json.loads(row), "guide", {}, None)
    assert record.kind == kind
    if re.fullmatch(r"[\d, ]+", scores):
        assert record.scores == tuple(float(score) for score in scores.split(","))


def test_the_guide_shows_every_kind():
    assert {kind for kind, _, _ in EXAMPLES} == {"demonstration", "pair", "thumb", "candidates", "prompt"}


def test_the_guide_lists_every_column():
    table = GUIDE.partition("## Columns")[2].partition("\n\nWhere a row")[0]
    listed = {}
    for roles, columns in re.findall(r"^\| (`.+?) \| (`.+?) \|$", table, flags=re.MULTILINE):
        names = re.findall(r"`(\w+)`", roles.partition("(")[0])
        for name, part in zip(names, columns.split(";"), strict=True):
            listed[name] = tuple(re.findall(r"`(\w+)`", part))
    assert listed == dict(ROLE_COLUMNS)
