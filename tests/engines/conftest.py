"""Policies over small random models whose tokens are letters."""

import pytest
import torch

from groupwise.models.policy import Policy
from groupwise.models.tiny import make_tokenizer


@pytest.fixture(scope="session")
def policy_of():
    """A float64 policy of a family: `policy_of("llama", share_prompts=False)`."""
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = make_tokenizer()
    special = {
        "mistral": {"sliding_window": 6},
        "gemma2": {"sliding_window": 6},
        "starcoder2": {"sliding_window": 6},
        "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    }

    def build(kind, *, share_prompts=True, sharpness=0.2, tokenizer=tokenizer, **changes):
        torch.manual_seed(0)
        sizes = {
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "max_position_embeddings": 128,
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
        }
        config = AutoConfig.for_model(kind, **{**sizes, **special.get(kind, {}), **changes})
        model = AutoModelForCausalLM.from_config(config).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += sharpness * torch.randn_like(parameter)
        return Policy(model, tokenizer, share_prompts=share_prompts)

    return build
