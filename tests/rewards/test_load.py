import pytest

from groupwise.errors import ConfigError
from groupwise.rewards import REWARDS, load_reward, score_group
from groupwise.rewards.exact_answer import ExactAnswer

FILE = """
from dataclasses import dataclass

def shorter(row, text, *, than=10):
    return len(text) < than

def needs(row, text, factor):
    return factor * len(text)

def free(row, text, **settings):
    return settings["a"]

def many(rows, texts, *, bonus=0.0):
    return [bonus + len(t) for t in texts]

many.batched = True

@dataclass(frozen=True)
class Vowels:
    weight: float = 1.0

    def __call__(self, row, text):
        return self.weight * sum(c in "aeiou" for c in text)

LIMIT = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_reward.py"
    path.write_text(FILE)
    return path


def scores(reward, *texts):
    return [j.score for j in score_group(reward, {}, texts)]


def test_built_in_names():
    assert load_reward("exact_answer", extract="boxed") == ExactAnswer(extract="boxed")
    assert all(cls.__module__ == f"groupwise.rewards.{name}" for name, cls in REWARDS.items())


def test_a_file(file, monkeypatch):
    assert scores(load_reward(f"{file}:shorter"), "abc", "a" * 12) == [1.0, 0.0]
    assert scores(load_reward(f"{file}:shorter", than=2), "abc") == [0.0]
    assert scores(load_reward(f"{file}:needs", factor=2), "abc") == [6.0]
    assert scores(load_reward(f"{file}:free", a=4), "abc") == [4.0]
    assert scores(load_reward(f"{file}:Vowels", weight=0.5), "queue") == [2.0]
    assert scores(load_reward(f"{file}:many"), "abc", "d") == [3.0, 1.0]
    assert scores(load_reward(f"{file}:many", bonus=1.0), "abc", "d") == [4.0, 2.0]
    monkeypatch.chdir(file.parent)
    assert scores(load_reward("./my_reward.py:shorter"), "abc") == [1.0]


def test_a_module(file, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    assert scores(load_reward("my_reward:shorter"), "abc") == [1.0]


@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        ("exact_anser", {}, "Did you mean `exact_answer`"),
        ("zzz", {}, "Known: "),
        ("exact_answer", {"extrct": "boxed"}, "Did you mean `extract`"),
        ("exact_answer", {"extract": "box"}, "Input should be 'last_number'"),
        ("my_reward.py", {}, "give file and function: `my_reward.py:NAME`"),
        ("absent.py:f", {}, "absent.py': there is no such file"),
        ("no_such_module_here:f", {}, "cannot be imported: ModuleNotFoundError"),
        ("{file}:shortr", {}, "has no `shortr`. Did you mean `shorter`"),
        ("{file}:LIMIT", {}, "cannot be called"),
        ("{file}:shorter", {"then": 3}, "Did you mean `than`"),
        ("{file}:shorter", {"row": 3}, "no setting `row`"),
        ("{file}:needs", {}, "needs the setting `factor`"),
        ("{file}:Vowels", {"wait": 1}, "Did you mean `weight`"),
    ],
)
def test_what_does_not_exist(file, spec, settings, said):
    with pytest.raises(ConfigError) as caught:
        load_reward(spec.format(file=file), **settings)
    assert said in str(caught.value)


def test_a_file_that_does_not_import(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def f(row, text:\n")
    with pytest.raises(ConfigError, match="cannot be imported: SyntaxError"):
        load_reward(f"{path}:f")


@pytest.mark.parametrize(
    ("code", "settings", "said"),
    [
        ("import sys\nsys.exit(3)", {}, "cannot be imported: SystemExit: 3"),
        (
            "class f:\n    def __init__(self, a):\n        self.a = 1 / a",
            {"a": 0},
            "cannot be made with {'a': 0}: ZeroDiv",
        ),
        ("def f(row):\n    return 1", {}, "takes (row), must take (row, text)"),
        ("f = dict", {}, "wrap it in a function of (row, text)"),
        ("f = 3", {}, "has a `f` that cannot be called."),
    ],
)
def test_a_users_file_that_cannot_be_used(tmp_path, code, settings, said):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(ConfigError) as caught:
        load_reward(f"{tmp_path}/mine.py:f", **settings)
    assert said in str(caught.value)
    assert "Known: ." not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("length", {"target": "far"}, "`reward.settings.target` = 'far'"),
        ("length", {"target": None}, "`reward.settings.target` = None"),
        ("length", {"target": 0}, "length.target = 0, must be above 0"),
        ("exact_answer", {"extract": "foo"}, "`reward.settings.extract` = 'foo'"),
    ],
)
def test_a_setting_of_the_wrong_type_or_range_is_named(name, settings, said):
    with pytest.raises(ConfigError) as caught:
        load_reward(name, **settings)
    assert said in str(caught.value)
