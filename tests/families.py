"""Real models of many families, a few thousand random float64 parameters each."""

import torch

SPECIAL = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "starcoder2": {"sliding_window": 6},
    "mistral": {"sliding_window": 6},
    "gemma2": {"sliding_window": 6},
    "gemma3_text": {"sliding_window": 6},
}


def random_model(kind, *, vocabulary, sharpness=0.1, experts_implementation=None, **changes):
    """A new causal model of a family: `random_model("llama", vocabulary=97, sliding_window=6)`."""
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 128,
        "pad_token_id": None,
        "bos_token_id": None,
        "eos_token_id": 2,
    }
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**sizes, **SPECIAL.get(kind, {}), **changes})
    model = AutoModelForCausalLM.from_config(config, experts_implementation=experts_implementation).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms too: no symmetry may hide a mistake
            parameter += sharpness * torch.randn_like(parameter)
    return model
