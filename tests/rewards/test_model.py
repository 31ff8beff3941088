"""The reward `model`: a reward model of ours, by recipe and by call."""

import pytest
import torch

from groupwise.errors import ConfigError, RewardError
from groupwise.models.scalar import ScalarModel
from groupwise.models.tiny import make_tiny
from groupwise.rewards import load_reward, score_batch


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
