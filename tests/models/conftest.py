"""Real models of many families, a few thousand random float64 parameters each, and batches for them."""

import random
from functools import partial

import pytest
import torch

from families import random_model
from groupwise.candidates import Completion, Group
from groupwise.data.batch import collate

VOCABULARY = 97


@pytest.fixture(scope="session")
def family():
    """A new causal model of a family: `family("llama", sliding_window=6)`."""
    return partial(random_model, vocabulary=VOCABULARY, bos_token_id=1)


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
