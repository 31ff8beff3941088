"""The model made on the spot is an ordinary folder, the same for the same seed."""

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from groupwise.models.tiny import ALPHABET, make_model, make_tiny, make_tokenizer

SMALL = {"hidden_size": 16, "layers": 1, "heads": 2}


def test_transformers_reads_it_back(tmp_path):
    folder = make_tiny(tmp_path / "model", seed=3, **SMALL)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    want = make_model(len(tokenizer), seed=3, end_id=tokenizer.eos_token_id, **SMALL)
    ids = torch.tensor([tokenizer("12+34=").input_ids])
    assert torch.equal(model(ids).logits, want(ids).logits)
    assert model.config.eos_token_id == tokenizer.eos_token_id
    assert tokenizer.pad_token_id not in (None, tokenizer.eos_token_id)


def test_the_seed_decides():
    def weights(seed):
        return torch.cat([p.flatten() for p in make_model(20, seed=seed, **SMALL).parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_it_leaves_the_random_state_alone():
    torch.manual_seed(5)
    want = torch.rand(3)
    torch.manual_seed(5)
    make_model(20, seed=1, **SMALL)
    assert torch.equal(torch.rand(3), want)


def test_a_character_is_a_token_and_comes_back():
    tokenizer = make_tokenizer()
    ids = tokenizer(ALPHABET).input_ids
    assert len(ids) == len(ALPHABET) == len(set(ids))
    assert tokenizer.decode(ids) == ALPHABET
    assert tokenizer.decode([*tokenizer("7").input_ids, tokenizer.eos_token_id], skip_special_tokens=True) == "7"
    assert tokenizer("#").input_ids == [tokenizer.unk_token_id]
