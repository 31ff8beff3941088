"""Log-probabilities of a whole step's batch, without gradient, micro-batch by micro-batch."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from groupwise.data.batch import Batch, micro_batches


@torch.no_grad()
def step_log_probs(log_probs: Callable[[Batch], Tensor], batch: Batch, max_tokens: int) -> Float[Tensor, "N T"]:
    """`log_probs` (a policy's or a reference's) of all rows, in the batch's order."""
    row_of = {source: n for n, source in enumerate(batch.source)}
    parts, rows = [], []
    for micro in micro_batches(batch, max_tokens):
        parts.append(log_probs(micro))
        rows += [row_of[source] for source in micro.source]
    together = torch.cat(parts)
    return torch.empty_like(together).index_copy(0, torch.tensor(rows, device=together.device), together)
