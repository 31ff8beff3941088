"""A small batch that tells whether two ways of running a model are the same."""

import torch

from groupwise.candidates import Completion, Group
from groupwise.data.batch import Batch, collate


def probe_batch(vocab_size: int, device: torch.device) -> Batch:
    """Three prompts of different length with 3, 1 and 2 responses of different lengths, of fixed token ids."""
    generator = torch.Generator().manual_seed(0)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(vocab_size, (count,), generator=generator).tolist())

    shape = [(7, (5, 1, 9)), (12, (4,)), (3, (6, 8))]
    groups = [
        Group(
            prompt_ids=ids(prompt),
            completions=tuple(Completion(token_ids=ids(length), text="", score=float(length)) for length in lengths),
        )
        for prompt, lengths in shape
    ]
    return collate(groups, device=device)
