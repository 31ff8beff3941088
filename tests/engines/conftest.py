"""Policies over small random models whose tokens are letters."""

import pytest

from families import random_model
from groupwise.models.policy import Policy
from groupwise.models.tiny import make_tokenizer


@pytest.fixture(scope="session")
def policy_of():
    """A float64 policy of a family: `policy_of("llama", share_prompts=False)`."""
    tokenizer = make_tokenizer()

    def build(kind, *, share_prompts=True, sharpness=0.2, tokenizer=tokenizer, **changes):
        ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
        model = random_model(kind, vocabulary=len(tokenizer), sharpness=sharpness, **{**ids, **changes})
        return Policy(model, tokenizer, share_prompts=share_prompts)

    return build
