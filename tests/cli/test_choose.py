"""`groupwise choose` as a user runs it."""

import io
import json

import pytest

from groupwise.cli.main import main
from groupwise.inputs import check_recipe
from groupwise.models.tiny import make_tiny
from groupwise.recipe import load_recipe, recipe_of

PROMPTS = [{"prompt": "1+1=", "answer": "2"}, {"prompt": "1+2=", "answer": "3"}]
PAIRS = [{"prompt": "1+1=", "chosen": "2", "rejected": "3"}, {"prompt": "1+2=", "chosen": "3", "rejected": "5"}]
CHAT = [{"prompt": [{"role": "user", "content": "1+1="}], "chosen": "2", "rejected": "3"}]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(make_tiny(tmp_path_factory.mktemp("tiny") / "model"))


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def printed(capsys, *arguments):
    assert main(["choose", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_as_json_exactly_four_things(tmp_path, capsys):
    found = printed(capsys, write(tmp_path / "prompts.jsonl", PROMPTS))
    assert list(found) == ["method", "reasons", "runner_up", "recipe"]
    assert (found["method"], found["runner_up"]) == ("grpo", "rloo")
    check_recipe(recipe_of(found["recipe"]))  # reads its data


def test_the_written_recipe_is_trained_by_the_command(tmp_path, capsys):
    recipe = tmp_path / "made" / "recipe.yaml"
    assert main(["choose", write(tmp_path / "pairs.jsonl", PAIRS), "--write", str(recipe)]) == 0
    shown = capsys.readouterr().out
    assert f"groupwise train {recipe}" in shown
    assert "No --model was given, so the recipe says tiny" in shown
    assert recipe.read_text().startswith("# dpo, chosen because\n# - 2 pairs")
    assert main(["train", str(recipe), "--run", str(tmp_path / "run"), "--train.steps", "1"]) == 0
    assert main(["choose", str(tmp_path / "pairs.jsonl"), "--write", str(recipe)]) == 2
    assert "it is there already" in capsys.readouterr().err


def test_for_a_person(tmp_path, capsys, tiny):
    path = write(tmp_path / "pairs.jsonl", PAIRS)
    assert main(["choose", path, "--reference", "no", "--model", tiny]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("orpo, because\n  - 2 pairs")  # a model without a chat template is a base model
    assert "runner-up: simpo" in shown
    assert "No --model" not in shown
    assert main(["choose", path, "--reference", "no", "--model", tiny, "--tuned", "yes"]) == 0
    assert capsys.readouterr().out.startswith("simpo, because")


def test_memory_is_counted_against_the_model(tmp_path, capsys, tiny):
    path = write(tmp_path / "pairs.jsonl", PAIRS)
    reasons = printed(capsys, path, "--model", tiny, "--memory", "8")["reasons"]
    assert any("0.9 million parameters take 0.013 GiB to train (16 bytes each)" in reason for reason in reasons)
    assert main(["choose", path, "--memory", "0"]) == 2
    assert "--memory 0.0: must be above 0" in capsys.readouterr().err
    assert main(["choose", path, "--memory", "0.001"]) == 2
    assert "take a smaller model" in capsys.readouterr().err


def test_the_data_settings_are_the_recipes(tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", [{"ask": "1+1=", "say": "2"}, {"ask": "1+2=", "say": "3"}])
    settings = ["--data.columns.prompt", "ask", "--data.columns.response", "say"]
    found = printed(capsys, path, *settings)
    assert found["recipe"]["data"] == {"path": path, "columns": {"prompt": "ask", "response": "say"}}
    check_recipe(recipe_of(found["recipe"]))


@pytest.mark.parametrize(
    ("arguments", "method", "section"),
    [
        (["sums"], "grpo", {"task": "sums", "size": 1000}),
        (["sums", "--data.kind", "pair"], "dpo", {"task": "sums", "size": 1000, "kind": "pair"}),
        (["sums", "--sampling", "no"], "sft", {"task": "sums", "size": 1000, "kind": "demonstration"}),
        (
            ["sums", "--data.kind", "pair", "--checker", "yes", "--data.settings.digits", "1"],
            "grpo",
            {"task": "sums", "size": 1000, "settings": {"digits": 1}},
        ),
    ],
)
def test_a_task_in_place_of_a_file(arguments, method, section, capsys):
    found = printed(capsys, *arguments)
    assert (found["method"], found["recipe"]["data"]) == (method, section)
    assert found["recipe"]["evaluate"]["data"]["split"] == "heldout"
    check_recipe(recipe_of(found["recipe"]))


def test_a_task_with_a_verifier_of_its_own(capsys):
    found = printed(capsys, "reasoning_gym.chain_sum", "--data.size", "20")
    assert found["recipe"]["reward"] == {"name": "reasoning_gym"}


def test_bad_files_are_the_errors_of_training(tmp_path, capsys):
    (tmp_path / "empty.jsonl").write_text("")
    bad = write(tmp_path / "bad.jsonl", [*PAIRS, {"prompt": "", "completion": "x"}])
    for file, message in (
        (str(tmp_path / "none.jsonl"), "none.jsonl"),
        (str(tmp_path / "empty.jsonl"), "empty"),
        (bad, "bad.jsonl:3: `prompt` is empty ('')"),
        (write(tmp_path / "mixed.jsonl", [*PAIRS, *PROMPTS]), "2 pair, 2 prompt"),
    ):
        assert main(["choose", file, "--json"]) == 2
        shown = capsys.readouterr()
        assert message in shown.err
        assert not shown.out


def test_rows_that_the_model_cannot_read_are_bad(tmp_path, capsys, tiny):
    assert main(["choose", write(tmp_path / "chat.jsonl", CHAT), "--model", tiny]) == 2
    assert "no chat template" in capsys.readouterr().err
    model = printed(capsys, str(tmp_path / "chat.jsonl"))["recipe"]["model"]["path"]
    assert model != "tiny"  # none is named, and tiny cannot read chats


def test_a_terminal_asks_what_matters_and_was_not_given(tmp_path, capsys, monkeypatch):
    path = write(tmp_path / "pairs.jsonl", PAIRS)
    monkeypatch.setattr("sys.stdin", Terminal("tiny\nno\n"))
    assert main(["choose", path]) == 0
    shown = capsys.readouterr()
    assert "Which model" in shown.err
    assert "reference model" in shown.err
    assert shown.out.startswith("orpo, because")
    monkeypatch.setattr("sys.stdin", Terminal("high\n"))
    assert main(["choose", path, "--model", "tiny", "--reference", "yes"]) == 0
    shown = capsys.readouterr()
    assert "reference model" not in shown.err
    assert shown.out.startswith("ipo, because")
    monkeypatch.setattr("sys.stdin", Terminal("length\n"))
    assert main(["choose", write(tmp_path / "prompts.jsonl", PROMPTS), "--model", "tiny"]) == 0
    shown = capsys.readouterr()
    assert "What judges an answer?" in shown.err
    assert "name: length" in shown.out


@pytest.mark.parametrize("stdin", [Terminal(""), io.StringIO("")], ids=["json", "no terminal"])
def test_nothing_is_asked_with_json_or_without_a_terminal(stdin, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", stdin)
    path = write(tmp_path / "pairs.jsonl", PAIRS)
    assert main(["choose", path, *(["--json"] if stdin.isatty() else [])]) == 0
    shown = capsys.readouterr()
    assert "Which model" not in shown.err


def test_the_recipe_says_settings_that_hold(tmp_path, capsys):
    recipe = tmp_path / "recipe.yaml"
    assert main(["choose", "sums", "--write", str(recipe), "--data.settings.digits", "1"]) == 0
    assert "name yours" in recipe.read_text()
    assert load_recipe(recipe).data.settings == {"digits": 1}
