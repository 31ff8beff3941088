"""The command as a user runs it: what stands on standard output, exit codes, and errors in one line."""

import json
import subprocess
import sys

import pytest

from groupwise.cli.main import main
from groupwise.models.tiny import make_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(make_tiny(tmp_path_factory.mktemp("tiny") / "model"))


def printed(capsys, *arguments):
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_python_m_groupwise_is_the_command():
    done = subprocess.run([sys.executable, "-m", "groupwise", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("groupwise ")


def test_list_as_json(capsys):
    found = printed(capsys, "list", "--json")
    assert set(found["objectives"]) >= {"sft", "dpo", "grpo"}
    assert "tiny_grpo" in found["recipes"]
    assert all(found["rewards"].values())


def test_explain_describes_a_setting_by_its_own_comment_not_the_next_ones(capsys):
    about = {f["name"]: f["about"] for f in printed(capsys, "explain", "grpo", "--json")["fields"]}
    assert about["ddof"] == "standard deviation over K - ddof"
    assert about["advantage"] == "how scores become weights"
    about = {f["name"]: f["about"] for f in printed(capsys, "explain", "exact_answer", "--json")["fields"]}
    assert about["answer_column"] == "the column that holds the right answer"  # no piece of the docstring or code
    about = {f["name"]: f["about"] for f in printed(capsys, "explain", "generalized", "--json")["fields"]}
    assert about["weights"] == "how scores become weights"  # the field is written over several lines


def test_explain_as_json(capsys):
    found = printed(capsys, "explain", "grpo", "--json")
    fields = {field["name"]: field for field in found["fields"]}
    assert fields["clip_low"]["default"] == 0.2
    assert all(field["about"] for field in found["fields"])
    assert found["papers"][0] == "https://arxiv.org/abs/2402.03300"
    assert "old" in found["needs"]


def test_evaluate_as_json(tiny, capsys):
    arguments = ["evaluate", tiny, "--data", "sums", "--reward", "exact_answer", "--size", "5", "--samples", "4"]
    found = printed(capsys, *arguments, "--max-new-tokens", "3", "--json", "--data.settings.digits", "1")
    assert found["prompts"] == 5
    assert set(found["sampled"]["pass_at"]) == {"1", "2", "4"}
    low, high = found["sampled"]["interval"]
    assert low <= found["sampled"]["score"] <= high


def test_sample_is_reproducible(tiny, capsys):
    arguments = ["sample", tiny, "1+1=", "--k", "3", "--max-new-tokens", "4", "--json"]
    assert printed(capsys, *arguments) == printed(capsys, *arguments)


def test_results_stand_on_standard_output(tiny, capsys):
    assert main(["list", "objectives"]) == 0
    shown = capsys.readouterr()
    assert "grpo" in shown.out
    assert not shown.err
    assert main(["explain", "grpo"]) == 0
    assert "clip_low" in capsys.readouterr().out


def test_brackets_in_prompts_are_no_markup(tiny, capsys):
    assert main(["sample", tiny, "[/bold]1", "[red]2", "--max-new-tokens", "2"]) == 0
    shown = capsys.readouterr().out
    assert "[/bold]1" in shown
    assert "[red]2" in shown


def test_a_scores_table_shows_the_rewards_own_numbers(tiny, capsys):
    arguments = ["evaluate", tiny, "--data", "sums", "--reward", "length", "--size", "3", "--max-new-tokens", "3"]
    assert main([*arguments, "--data.settings.digits", "1", "--reward.settings.target", "5"]) == 0
    shown = capsys.readouterr().out
    name, score, *_ = (cell.strip() for cell in next(r for r in shown.splitlines() if "greedy" in r)[1:].split("│"))
    assert name == "greedy"
    assert 0 <= float(score) <= 1  # a number, not a share: a reward may have any range


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "which recipe?"),
        (["train", "tiny_grp"], "Did you mean `tiny_grpo`?"),
        (["train", "tiny_grpo", "--train.step", "3"], "Did you mean `steps`?"),
        (["train", "tiny_grpo", "--train.steps"], "has no value"),
        (["train", "--resume", "nowhere"], "nowhere"),
        (["explain", "grop"], "Did you mean `grpo`?"),
        (["sample", ".", "\udcff"], "holds bytes that are not UTF-8"),
        (["explain", "./mine.py:f"], "a reward of your own"),
        (["train", "tiny_grpo", "--overwrite"], "no effect without --run"),
        (["evaluate", ".", "--data", "sums", "--reward", "exact_answer", "--dat.kind", "x"], "Did you mean `data`?"),
        (["evaluate", ".", "--data", "sums", "--reward", "exact_answer", "--sampling.k", "3"], "no section `sampling`"),
        (
            ["evaluate", ".", "--data", "sums", "--reward", "length", "--data.max_response_tokens", "3"],
            "give --max-new-tokens",
        ),
        (["evaluate", ".", "--data", "sums", "--reward", "exact_answer", "--size", "0"], "data.size = 0"),
        (["evaluate", ".", "--data", "sums", "--reward", "exact_answer", "--samples", "0"], "sampling.k = 0"),
        (["evaluate", "./nowhere", "--data", "sums", "--reward", "exact_answer"], "nowhere"),
        (["get-model", "smolm", "somewhere"], "smollm2-135m-instruct"),
    ],
)
def test_mistakes_get_one_clear_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_changed_nothing_is_said_at_the_terminal(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.py").write_text("def same(row, text):\n    return 1\n")
    arguments = ["train", "tiny_grpo", "--reward.name", "./same.py:same", "--train.steps", "2", "--run", "run"]
    assert main([*arguments, "--data.size", "5", "--evaluate", "null", "--train.groups_per_step", "2"]) == 0
    assert "warning: no_signal at 2 steps, the first: step 0 changed nothing" in capsys.readouterr().err


def test_a_directory_that_cannot_be_written_is_one_clear_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "tiny_grpo", "--run", "/proc/run"]) == 2
    assert capsys.readouterr().err.startswith("error: No such file or directory: /proc/run")


def test_resuming_with_what_would_have_no_effect(capsys, tmp_path):
    for more in (["--overwrite"], ["--run", "x"], ["--train.steps", "9"]):
        assert main(["train", "--resume", str(tmp_path), *more]) == 2
        assert f"leave out {more[0]}" in capsys.readouterr().err.replace("9 ", "")
    (tmp_path / "config.yaml").write_text("train: {steps: 3}")
    assert main(["train", "--resume", str(tmp_path)]) == 2
    assert f"--resume {tmp_path}: `model` is missing" in capsys.readouterr().err


def test_a_verb_that_does_not_exist_is_told_the_nearest(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["trian", "tiny_grpo"])
    assert stopped.value.code == 2
    assert "there is no verb `trian`. Did you mean `train`?" in capsys.readouterr().err


def test_explain_an_objective_with_a_setting_that_has_no_default(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom groupwise.candidates import Objective\n\n\n"
        "@dataclass(frozen=True, kw_only=True)\nclass Mine(Objective):\n    a: float  # how much\n\n"
        "    def __call__(self, c): ...\n"
    )
    found = printed(capsys, "explain", str(tmp_path / "mine.py"), "--json")
    assert found["fields"][0]["about"] == "how much"
    assert found["needs"] == ["what depends on a"]


def test_what_to_do_next_suits_what_was_trained(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "1", "chosen": "2", "rejected": "3"}\n')
    (tmp_path / "r.yaml").write_text(
        "model: {path: tiny}\nobjective: {name: dpo}\ndata: {path: pairs.jsonl}\ntrain: {steps: 1}\n"
    )
    assert main(["train", "r.yaml", "--run", "a b"]) == 0
    assert "next:  groupwise sample 'a b/model' " in capsys.readouterr().out
    assert main(["train", "r.yaml", "--run", "c", "--objective.name", "reward_model"]) == 0
    assert "groupwise sample" not in capsys.readouterr().out
    assert main(["sample", "c/model", "1"]) == 2
    assert "gives scores and does not write" in capsys.readouterr().err
