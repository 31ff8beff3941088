import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from groupwise.errors import ConfigError
from groupwise.rewards import REWARDS, HarnessConfig, make_judge
from groupwise.rewards.sentiment import Sentiment


def test_sentiment():
    pytest.importorskip("vaderSentiment", reason="pip install 'groupwise[sentiment]'")
    reward = Sentiment()
    good, neutral, bad = (reward({}, t) for t in ("A wonderful, moving film.", "A film.", "A dull, terrible film."))
    assert -1 <= bad < -0.3 < neutral == 0 < 0.3 < good <= 1
    assert reward({}, "") == 0.0
    assert Sentiment(target="negative")({}, "A wonderful, moving film.") == -good
    assert pickle.loads(pickle.dumps(reward)) == reward
    with pytest.raises(ConfigError, match="`positive`"):
        Sentiment(target="happy")


@pytest.mark.parametrize(
    "name", ["exact", "contains", "regex", "json_schema", "format", "length", "repetition", "language", "toxicity"]
)
def test_the_page_names_every_field(name):
    page = (Path(__file__).parents[2] / "docs" / "rewards" / "builtin.md").read_text()
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert [field.name for field in fields(REWARDS[name]) if f"`{field.name}" not in section] == []


def test_the_rewards_with_a_model_work_in_worker_processes():
    row = {"prompt": "?"}
    for name, good, bad in (
        (
            "language",
            "The old house by the river was sold last summer.",
            "Das alte Haus am Fluss wurde jetzt verkauft.",
        ),
        ("toxicity", "What a lovely garden you have.", "Shut up, you fucking idiot."),
        ("json_schema", "[]", "{}"),
    ):
        settings = {"schema": {"type": "array"}} if name == "json_schema" else {}
        judge = make_judge(name, settings, config=HarnessConfig(workers=1))
        try:
            high, low = judge.submit(row, [good, bad]).result()
        finally:
            judge.close()
        assert (high.error, high.lost, low.error, low.lost) == ("", "", "", "")
        assert high.score > 0.9
        assert low.score < 0.1


@pytest.mark.parametrize(
    ("package", "reward", "extra"),
    [
        ("vaderSentiment", "sentiment", "sentiment"),
        ("reasoning_gym", "reasoning_gym", "reasoning-gym"),
        ("py3langid", "language", "language"),
        ("profanity_check", "toxicity", "toxicity"),
        ("jsonschema", "json_schema", "json-schema"),
        ("math_verify", "math_answer", "math"),
    ],
)
def test_a_missing_package_is_found_when_the_reward_is_made(package, reward, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from groupwise.errors import MissingExtra\nfrom groupwise.rewards import load_reward\n"
        f"try: load_reward({reward!r})\nexcept MissingExtra as error: print(error)"
    )
    code = code.replace("json_schema'", "json_schema', column='schema'")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f"pip install 'groupwise[{extra}]'" in said
