"""`groupwise choose` as a user runs it."""

import json

from groupwise.cli.main import main
from groupwise.recipe import load_recipe


def test_as_json_and_as_a_recipe(tmp_path, capsys):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "1+1=", "answer": "2"}\n{"prompt": "1+2=", "answer": "3"}\n')
    recipe = tmp_path / "recipe.yaml"
    assert main(["choose", str(path), "--model", "tiny", "--json", "--write", str(recipe)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"method", "reasons", "runner_up", "recipe"}
    assert found["method"] == "grpo"
    assert recipe.read_text().startswith("# grpo, chosen because\n#   2 prompts")
    assert load_recipe(recipe).objective["name"] == "grpo"
    assert main(["choose", str(path), "--write", str(recipe)]) == 2
    assert "it is there already" in capsys.readouterr().err


def test_for_a_person(tmp_path, capsys):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"prompt": "1+1=", "chosen": "2", "rejected": "3"}\n')
    assert main(["choose", str(path), "--memory", "0"]) == 2
    assert main(["choose", str(path), "--reference", "no"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("simpo, because")
    assert "runner-up: orpo" in shown
