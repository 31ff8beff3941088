"""Every objective has a page that explains its fields and whose examples work."""

import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import torch
import yaml

from groupwise.candidates import Candidates, implied_weights
from groupwise.registry import find_objective, objective_names

METHODS = Path(__file__).parents[2] / "docs" / "methods"
names = pytest.mark.parametrize("name", objective_names())


def settings_table(page: str) -> dict[str, str]:
    """Field to default, as the page's table says."""
    return dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]+)`)?", page, re.MULTILINE))


@names
def test_the_page_names_every_field_and_its_default(name):
    page = (METHODS / f"{name}.md").read_text()
    table = settings_table(page.split("## Settings")[1].split("\n\n## ")[0])
    known = fields(find_objective(name))
    assert set(table) == {field.name for field in known}
    for field in known:
        assert field.default is not MISSING
        assert table[field.name] == ("" if field.default is None else str(field.default))


@names
def test_the_page_explains_every_statistic(name):
    page = (METHODS / f"{name}.md").read_text()
    source = (METHODS.parents[1] / "src" / "groupwise" / "objectives" / f"{name}.py").read_text()
    if "c.pair_loss(" in source:  # logs what it compares
        source += inspect.getsource(Candidates.pair_loss)
    statistics = re.findall(r'"(\w+)": Mean\.of', source) + re.findall(r'stats\["(\w+)"\]', source)
    assert statistics
    watched = page.split("## What to watch")[1].split("\n## ")[0]
    assert [stat for stat in statistics if f"`{stat}`" not in watched] == []


@names
def test_the_pages_recipe_builds_the_objective(name):
    page = (METHODS / f"{name}.md").read_text()
    recipes = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert recipes
    for recipe in recipes:
        objective = yaml.safe_load(recipe)["objective"]
        assert objective.pop("name") == name
        find_objective(name)(**objective)


@names
def test_the_pages_python_runs_and_prints_what_it_says(name, capsys):
    examples = re.findall(r"```python\n(.*?)```", (METHODS / f"{name}.md").read_text(), re.DOTALL)
    assert examples
    for code in examples:
        exec(compile(code, f"{name}.md", "exec"), {})
        printed = re.sub(r", grad_fn=\S+\)", ")", capsys.readouterr().out).splitlines()
        promised = re.findall(r"^print\(.*\)  # (.*?)(?::|$)", code, re.MULTILINE)
        assert promised
        assert printed == promised


def test_the_objective_in_contributing_works(tmp_path):
    text = (METHODS.parents[1] / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "foo.py").write_text(code)
    foo = find_objective(str(tmp_path / "foo.py"))(negatives=0.5)
    c = Candidates(
        logp=torch.full((3, 1), -1.0),
        mask=torch.ones(3, 1, dtype=torch.bool),
        group=torch.zeros(3, dtype=torch.long),
        score=torch.tensor([0.0, 3.0, 0.0]),
    )
    pushes = implied_weights(foo, foo.prepare(c)).flatten().tolist()
    assert pushes == pytest.approx([-0.5 / 3, 2 / 3, -0.5 / 3])
