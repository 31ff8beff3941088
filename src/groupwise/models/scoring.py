"""What models say of a whole step's batch, without gradient, micro-batch by micro-batch."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from groupwise.candidates import Need
from groupwise.data.batch import Batch, micro_batches
from groupwise.models.trained import Reader


def step_log_probs(log_probs: Callable[[Batch], Tensor], batch: Batch, max_tokens: int) -> Float[Tensor, "N T"]:
    """`log_probs` (a policy's or a reference's) of all rows, in the batch's order."""
    return _step(lambda micro: {"logp": log_probs(micro)}, batch, max_tokens)["logp"]


def step_read(policy: Reader, batch: Batch, needs: Need, max_tokens: int) -> dict[str, Float[Tensor, "N T"]]:
    """What `policy.read` says of all rows, in the batch's order: `logp`, and `value` if it is needed."""

    def read(micro: Batch) -> Mapping[str, Tensor]:
        c = policy.read(micro, needs)
        return {"logp": c.logp} | ({} if c.value is None else {"value": c.value})

    return _step(read, batch, max_tokens)


@torch.no_grad()
def _step(read: Callable[[Batch], Mapping[str, Tensor]], batch: Batch, max_tokens: int) -> dict[str, Tensor]:
    row_of = {source: n for n, source in enumerate(batch.source)}
    parts: list[Mapping[str, Tensor]] = []
    rows = []
    for micro in micro_batches(batch, max_tokens, split=True):
        parts.append(read(micro))
        rows += [row_of[source] for source in micro.source]
    order = torch.tensor(rows, device=batch.candidates.mask.device)
    together = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return {name: torch.empty_like(value).index_copy(0, order, value) for name, value in together.items()}
