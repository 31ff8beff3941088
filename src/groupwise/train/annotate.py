"""Add what the objective needs to a step's batch: log-probabilities of other models, without gradient."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from groupwise.candidates import Need
from groupwise.data.batch import Batch, micro_batches
from groupwise.models.policy import Policy
from groupwise.models.reference import Reference


def annotate(
    batch: Batch, needs: Need, policy: Policy, *, reference: Reference | None, moves: bool, max_tokens: int
) -> Batch:
    """The batch with `logp_ref` and `logp_old` where they are needed.

    `moves` says that the policy takes more than one optimizer step on this batch. Otherwise the policy
    that is trained is the one that sampled, the ratio is exactly 1, and no pass is spent on `logp_old`.
    """
    added = {}
    if Need.REF in needs:
        assert reference is not None, "the objective needs a reference"
        added["logp_ref"] = step_log_probs(reference.log_probs, batch, max_tokens)
    if Need.OLD in needs and moves:
        added["logp_old"] = step_log_probs(policy.log_probs, batch, max_tokens)
    return replace(batch, candidates=replace(batch.candidates, **added))


@torch.no_grad()
def step_log_probs(log_probs: Callable[[Batch], Tensor], batch: Batch, max_tokens: int) -> Float[Tensor, "N T"]:
    """Log-probabilities of a whole step, micro-batch by micro-batch."""
    row_of = {source: n for n, source in enumerate(batch.source)}
    parts, rows = [], []
    for micro in micro_batches(batch, max_tokens):
        parts.append(log_probs(micro))
        rows += [row_of[source] for source in micro.source]
    together = torch.cat(parts)
    return torch.empty_like(together).index_copy(0, torch.tensor(rows, device=together.device), together)
