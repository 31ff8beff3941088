"""What is wrong with a model folder is said before anything is trained."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from groupwise.errors import ModelError
from groupwise.models.load import (
    check_vocabulary,
    end_token_ids,
    load_model,
    load_tokenizer,
    saved_end_token_ids,
)
from groupwise.models.policy import Policy
from groupwise.models.scalar import ScalarModel
from groupwise.models.tiny import make_tiny, make_tokenizer


@pytest.fixture
def folder(tmp_path, whole):
    return shutil.copytree(whole, tmp_path / "model")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_tiny(tmp_path_factory.mktemp("whole") / "model", hidden_size=16, layers=1, heads=2)


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def load(folder):
    return load_model(folder, dtype=torch.float32)


@pytest.mark.parametrize("path", ["/no/such/folder", "./nowhere", "a/b/c", "", " ", "/dev/null", "-x"])
def test_a_missing_folder(path):
    for function in (load_tokenizer, load):
        with pytest.raises(ModelError, match=rf"{path}.*not a folder.*save_pretrained"):
            function(path)


def test_a_folder_without_tokenizer(folder):
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ModelError, match=r"no tokenizer.*save_pretrained"):
        Policy.load(folder)


def test_a_tokenizer_without_an_end(folder):
    tokenizer = make_tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"no end-of-text token: set tokenizer.eos_token"):
        Policy.load(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_numbers(folder, value):
    change_weights(folder, lambda w: w["model.layers.0.mlp.up_proj.weight"][0, 0].fill_(value))
    with pytest.raises(ModelError, match=r"NaN or infinite weights in 1 tensors, the first model.layers.0.mlp.up_proj"):
        load(folder)


def test_weights_that_are_missing_are_not_made_up(folder):
    change_weights(folder, lambda w: w.pop("model.norm.weight"))
    with pytest.raises(ModelError, match=r"lacks 1 weights .*model.norm.weight.*random"):
        load(folder)


def test_a_damaged_file(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelError, match="no causal model"):
        load(folder)


def test_weights_of_another_shape(folder):
    change_weights(folder, lambda w: w.update({"model.norm.weight": torch.ones(9)}))
    with pytest.raises(ModelError, match=r"no causal model.*: model.norm.weight is \[9\] in its file, \[16\] by its"):
        load(folder)


def test_layers_that_the_configuration_leaves_out(tmp_path):
    folder = make_tiny(tmp_path / "model", hidden_size=16, layers=3, heads=2)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    with pytest.raises(ModelError, match=r"names fewer layers than its file holds: model.layers.1.input_layernorm"):
        load(folder)


@pytest.mark.parametrize(("name", "content"), [("config.json", b"[]"), ("pytorch_model.bin", b"garbage")])
def test_files_that_are_not_what_their_name_says(folder, name, content):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match="no causal model"):
        load(folder)
    if name == "config.json":
        with pytest.raises(ModelError, match="no tokenizer"):
            load_tokenizer(folder)


def test_a_folder_of_the_home_directory(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert Policy.load("~/model").tokenizer.eos_token_id is not None


def test_a_hub_id_that_cannot_be_reached_is_not_told_to_save_a_tokenizer():
    with pytest.raises(ModelError, match=r"'no-org/no-model' .*: give one saved by .* hub id .* can be reached"):
        load_tokenizer("no-org/no-model")


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no causal model"):
        load(folder)


def test_a_tokenizer_of_another_model(folder, whole):
    make_tokenizer("0123456789" + "".join(map(chr, range(0x400, 0x500)))).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"ids up to \d+, the model has \d+ embeddings"):
        Policy.load(folder)
    check_vocabulary(load(whole), load_tokenizer(whole), whole)


def test_every_end_token_ends_a_response(whole):
    model, tokenizer = load(whole), load_tokenizer(whole)
    assert end_token_ids(model, tokenizer) == {tokenizer.eos_token_id}
    model.generation_config.eos_token_id = [7, 9]
    assert end_token_ids(model, tokenizer) == {7, 9, tokenizer.eos_token_id}
    model.generation_config.eos_token_id = None
    assert end_token_ids(model, tokenizer) == {tokenizer.eos_token_id}


@pytest.mark.parametrize("configured", [None, 7, [7, 9]])
def test_the_end_tokens_are_known_without_the_weights(whole, tmp_path, configured):
    model, tokenizer = load(whole), load_tokenizer(whole)
    model.generation_config.eos_token_id = configured
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert saved_end_token_ids(tmp_path, tokenizer) >= end_token_ids(model, tokenizer)
    (tmp_path / "config.json").unlink()
    (tmp_path / "generation_config.json").unlink()
    assert saved_end_token_ids(tmp_path, tokenizer) == {tokenizer.eos_token_id}


def test_the_end_of_turn_of_a_chat_template_ends_a_response(whole):
    model, tokenizer = load(whole), load_tokenizer(whole)
    tokenizer.add_tokens(["<|turn|>"], special_tokens=True)
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}:{{ m.content }}<|turn|>{% endfor %}" + (
        "{% if add_generation_prompt %}assistant:{% endif %}"
    )
    turn = tokenizer.convert_tokens_to_ids("<|turn|>")
    assert end_token_ids(model, tokenizer) == {turn, tokenizer.eos_token_id}
    tokenizer.chat_template = "{{ nowhere.attribute }}"
    assert end_token_ids(model, tokenizer) == {tokenizer.eos_token_id}


def test_a_model_that_scores_is_not_taken_for_one_that_writes(folder, whole, tmp_path):
    ScalarModel.load(whole, new_head=True).save(tmp_path / "scalar")
    with pytest.raises(ModelError, match="gives scores and does not write: take a causal model"):
        load(tmp_path / "scalar")
