"""The reward `model`: a reward model of ours, by recipe and by call."""

import json
import os
import re
import signal
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import torch

from groupwise.errors import ConfigError, RewardError
from groupwise.models.scalar import ScalarModel
from groupwise.models.tiny import make_tiny
from groupwise.rewards import load_reward, make_judge, score_batch


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = make_tiny(tmp_path_factory.mktemp("model") / "base")
    model = ScalarModel.load(base, new_head=True)
    torch.manual_seed(0)
    torch.nn.init.normal_(model.model.score.weight)
    path = tmp_path_factory.mktemp("model") / "reward"
    model.save(path)
    return str(path)


def test_a_score_is_the_models_at_the_end_token(folder):
    reward = load_reward("model", path=folder)
    rows = [{"prompt": "1+2="}, {"prompt": "10+20="}, {"prompt": "1+2="}]
    found = [judgement.score for judgement in score_batch(reward, rows, ["3", "30", "4"])]
    model = ScalarModel.load(folder)
    written = ["1+2=3", "10+20=30", "1+2=4"]
    ids = [[*model.tokenizer(text)["input_ids"], model.tokenizer.eos_token_id] for text in written]
    native = [model.model(torch.tensor([row])).logits.item() for row in ids]
    assert found == pytest.approx(native, abs=1e-5)
    assert len(set(found)) == 3
    alone = [score_batch(reward, [row], [text])[0].score for row, text in zip(rows, ["3", "30", "4"], strict=True)]
    assert found == pytest.approx(alone, abs=1e-5)


def test_what_is_missing_is_named(folder):
    with pytest.raises(RewardError, match=r"column `prompt`.*prompt_column"):
        score_batch(load_reward("model", path=folder), [{"question": "1+2="}], ["3"])
    with pytest.raises(ConfigError, match="needs the setting `path`"):
        load_reward("model")
    assert score_batch(load_reward("model", path=folder, prompt_column="question"), [{"question": "1+2="}], ["3"])


def test_a_text_that_spells_the_end_token_is_not_judged(folder):
    model = ScalarModel.load(folder)
    text = f"3{model.tokenizer.eos_token}4"
    found = score_batch(load_reward("model", path=folder), [{"prompt": "1+2="}] * 2, [text, "3"])
    assert found[0].score is None
    assert found[1].score is not None


@pytest.fixture(scope="module")
def served(folder):
    """The verb in a process of its own; its address."""
    command = [sys.executable, "-m", "groupwise", "serve-reward", folder, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        said = server.stdout.readline()
        yield re.search(r"http://[0-9.]+:[0-9]+", said).group()
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in (0, 130)


def test_a_served_model_says_the_same(folder, served):
    here, there = load_reward("model", path=folder), load_reward("model", url=served)
    assert (here.overlaps, there.overlaps) == (False, True)
    spelt = f"3{ScalarModel.load(folder).tokenizer.eos_token}4"
    rows = [{"prompt": "1+2="}, {"prompt": [{"role": "user", "content": "1+2="}]}, {"prompt": "1+2="}]
    texts = ["3", "4", spelt]
    plain = [(rows[0], "3"), (rows[2], spelt)]  # the small model has no chat template
    for reward in (here, there):
        found = score_batch(reward, *zip(*plain, strict=True))
        assert found[1].score is None
    assert [j.score for j in score_batch(there, rows, texts, on_error="unjudged")] == pytest.approx(
        [j.score for j in score_batch(here, rows, texts, on_error="unjudged")], nan_ok=True
    )


def test_groups_are_judged_side_by_side_through_the_harness(folder, served):
    judge, here = make_judge("model", {"url": served}), load_reward("model", path=folder)
    try:
        pending = [judge.submit({"prompt": f"{i}+2="}, ["3", "4"]) for i in range(6)]
        found = [[judged.score for judged in group.result()] for group in pending]
    finally:
        judge.close()
    expected = [[j.score for j in score_batch(here, [{"prompt": f"{i}+2="}] * 2, ["3", "4"])] for i in range(6)]
    assert found == [pytest.approx(scores, abs=1e-5) for scores in expected]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no", 400),
        (b"[]", 400),
        (b'{"prompts": ["a"], "texts": []}', 400),
        (b'{"prompts": [""], "texts": ["a"]}', 400),
        (b'{"prompts": ["a"], "texts": [3]}', 400),
        (b'{"prompts": ["a"], "texts": ["b"]}', 200),
    ],
)
def test_what_the_server_takes(served, body, status):
    request = Request(f"{served}/score", data=body)
    if status == 200:
        with urlopen(request, timeout=20) as response:
            assert len(json.loads(response.read())["scores"]) == 1
        return
    with pytest.raises(HTTPError, match=str(status)) as caught:
        urlopen(request, timeout=20)
    assert "lists of one length" in caught.value.read().decode()


def test_the_server_says_whose_it_is(folder, served):
    with urlopen(served, timeout=20) as response:
        assert json.loads(response.read()) == {"model": folder}


def test_no_server_and_no_such_server(served, monkeypatch):
    monkeypatch.setattr("groupwise.rewards.served.PAUSE_S", 0.01)
    with pytest.raises(RewardError, match=r"cannot reach http://127.0.0.1:9 .*groupwise serve-reward"):
        score_batch(load_reward("model", url="http://127.0.0.1:9"), [{"prompt": "1"}], ["2"])
    with pytest.raises(RewardError, match="got 404"):
        score_batch(load_reward("model", url=f"{served}/else"), [{"prompt": "1"}], ["2"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"path": "a", "url": "http://b"}, "one of them"),
        ({"url": "ftp://b"}, "must start with http"),
        ({"url": "http://b", "timeout_s": 0}, "timeout_s = 0.0, must be above 0"),
    ],
)
def test_settings_of_a_served_model(settings, said):
    with pytest.raises(ConfigError, match=said):
        load_reward("model", **settings)
