import json
import pickle
import subprocess
import sys

import pytest

from groupwise.data.tasks import task_rows
from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.length import Length
from groupwise.rewards.reasoning_gym import FAULTY, ReasoningGym
from groupwise.rewards.sentiment import Sentiment


def test_length():
    reward = Length(target=4)
    assert [reward({}, "w " * n) for n in (0, 2, 4, 6, 8, 100)] == [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert Length(target=4, unit="characters")({}, "word") == 1.0
    with pytest.raises(ConfigError, match="above 0"):
        Length(target=0)
    with pytest.raises(ConfigError, match="words"):
        Length(unit="tokens")


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


@pytest.mark.parametrize("task", ["chain_sum", "basic_arithmetic", "spell_backward", "countdown"])
def test_reasoning_gym_accepts_its_own_answers_after_a_trip_through_json(task):
    pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    for row in json.loads(json.dumps(task_rows(f"reasoning_gym.{task}", size=5, seed=3))):
        answer = row["answer"]
        assert ReasoningGym()(row, f" {answer}\n") == 1.0
        assert ReasoningGym(extract="tag")(row, f"so <answer>7</answer> no <answer>{answer}</answer>.") == 1.0
        assert ReasoningGym(extract="tag")(row, answer) == 0.0
        assert ReasoningGym(extract="last_line")(row, f"it is\n\n{answer}\n\n") == 1.0
        assert ReasoningGym()(row, "xyzzy") < 0.5
        assert ReasoningGym()(row, "") == 0.0


def test_reasoning_gym_refuses_faulty_verifiers():
    pytest.importorskip("reasoning_gym", reason="pip install 'groupwise[reasoning-gym]'")
    for task, fault in FAULTY.items():
        with pytest.raises(RewardError, match=fault):
            ReasoningGym()({"answer": "1", "metadata": {"source_dataset": task}}, "1")
    with pytest.raises(RewardError, match="Did you mean `chain_sum`"):
        ReasoningGym()({"answer": "1", "metadata": {"source_dataset": "chain_sums"}}, "1")
    with pytest.raises(RewardError, match="the row has: prompt, answer"):
        ReasoningGym()({"prompt": "1+1=", "answer": "2"}, "2")
    with pytest.raises(ConfigError, match="`tag`"):
        ReasoningGym(extract="boxed")


@pytest.mark.parametrize(
    ("package", "reward", "extra"),
    [("vaderSentiment", "sentiment", "sentiment"), ("reasoning_gym", "reasoning_gym", "reasoning-gym")],
)
def test_a_missing_package_is_found_when_the_reward_is_made(package, reward, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from groupwise.errors import MissingExtra\nfrom groupwise.rewards import load_reward\n"
        f"try: load_reward({reward!r})\nexcept MissingExtra as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f"pip install 'groupwise[{extra}]'" in said
