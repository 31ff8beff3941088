"""Real models of many families, a few thousand random float64 parameters each, and batches for them."""

import random

import pytest
import torch

from groupwise.candidates import Completion, Group
from groupwise.data.batch import collate

VOCABULARY = 97


@pytest.fixture(scope="session")
def family():
    """A new causal model of a family: `family("llama", sliding_window=6)`."""
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 128,
        "pad_token_id": None,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    special = {
        "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
        "starcoder2": {"sliding_window": 6},
        "mistral": {"sliding_window": 6},
        "gemma2": {"sliding_window": 6},
        "gemma3_text": {"sliding_window": 6},
    }

    def build(kind, *, experts_implementation=None, **changes):
        torch.manual_seed(0)
        config = AutoConfig.for_model(kind, **{**sizes, **special.get(kind, {}), **changes})
        model = AutoModelForCausalLM.from_config(config, experts_implementation=experts_implementation).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():  # biases and norms too: no symmetry may hide a mistake
                parameter += 0.1 * torch.randn_like(parameter)
        return model

    return build


@pytest.fixture(scope="session")
def groups_of():
    """Groups of random token ids: `groups_of([(prompt length, [response lengths])], seed=0, masked=False)`."""

    def build(shape, *, seed=0, masked=False):
        rng = random.Random(seed)

        def completion(length):
            trained = tuple(rng.random() < 0.6 for _ in range(length)) if masked else None
            return Completion(
                token_ids=tuple(rng.randrange(3, VOCABULARY) for _ in range(length)),
                text="",
                score=rng.random(),
                trained=trained,
            )

        return [
            Group(
                prompt_ids=tuple(rng.randrange(3, VOCABULARY) for _ in range(prompt)),
                completions=tuple(completion(length) for length in lengths),
            )
            for prompt, lengths in shape
        ]

    return build


@pytest.fixture(scope="session")
def batch_of(groups_of):
    """The same, collated."""
    return lambda shape, **options: collate(groups_of(shape, **options))


@pytest.fixture(scope="session")
def native_log_probs():
    """[N, T] from one forward pass of the model itself for each row; 0 outside the mask."""

    def compute(model, batch, temperature=1.0):
        rows = []
        for n, response in enumerate(batch.responses):
            prompt = batch.prompts[batch.prompt_of[n]]
            logits = model(torch.tensor([prompt + response]), use_cache=False).logits[0, len(prompt) - 1 : -1]
            logp = torch.log_softmax(logits / temperature, -1).gather(1, torch.tensor(response)[:, None])[:, 0]
            rows.append(torch.nn.functional.pad(logp, (0, batch.candidates.mask.shape[1] - len(response))))
        return torch.where(batch.candidates.mask, torch.stack(rows), 0.0)

    return compute
