"""A small Llama made on the spot, as an ordinary Hugging Face folder: the demo and the tests need no download."""

from pathlib import Path
from typing import Any

import torch

# One token a character: an answer's digits are separate decisions, as a curriculum of arithmetic wants.
ALPHABET = "0123456789+-*=(). ,?:;!'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\n"
END = "<|end|>"
PAD = "<|pad|>"
UNKNOWN = "<|unknown|>"


def make_tokenizer(alphabet: str = ALPHABET) -> Any:
    """A character tokenizer with an end, a padding and an unknown token; it has no chat template."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate([PAD, END, UNKNOWN, *alphabet])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, unk_token=UNKNOWN)


def make_model(
    vocab_size: int, *, hidden_size: int = 128, layers: int = 4, heads: int = 4, seed: int = 0, end_id: int = 1
) -> Any:
    """A LlamaForCausalLM of about `12 layers hidden_size^2` parameters with random weights drawn from `seed`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=hidden_size * 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=hidden_size**-0.5,
        bos_token_id=None,
        eos_token_id=end_id,
        pad_token_id=0,
    )
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    torch.set_rng_state(state)
    return model.eval()


def make_tiny(directory: Path, *, seed: int = 0, hidden_size: int = 128, layers: int = 4, heads: int = 4) -> Path:
    """Write model and tokenizer to a folder that `AutoModelForCausalLM.from_pretrained` reads."""
    tokenizer = make_tokenizer()
    model = make_model(
        len(tokenizer), hidden_size=hidden_size, layers=layers, heads=heads, seed=seed, end_id=tokenizer.eos_token_id
    )
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
