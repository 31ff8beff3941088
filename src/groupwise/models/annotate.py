"""Add what the objective needs to a step's batch: what models say of it, without gradient."""

from dataclasses import replace
from typing import Any

from groupwise.candidates import Need
from groupwise.clock import phase
from groupwise.data.batch import Batch
from groupwise.models.reference import Reference
from groupwise.models.scoring import step_log_probs, step_read
from groupwise.models.trained import Reader


def annotate(
    batch: Batch, needs: Need, policy: Reader, *, reference: Reference | None, moves: bool, max_tokens: int
) -> Batch:
    """The batch with the tensors and rows that are needed: one pass of the policy and one of the reference at most.

    `moves` says that the policy takes more than one optimizer step on this batch. Otherwise the policy
    that is trained is the one that sampled, the ratio is exactly 1, and no pass is spent on `logp_old`.
    """
    if Need.MISMATCHED in needs:
        batch = batch.with_mismatched()
    added: dict[str, Any] = {}
    critic = Need.VALUE in needs and policy.learned != "value"  # a reward model's own values are what it learns
    old = Need.OLD in needs and moves
    if old or critic or Need.CURRENT in needs:
        with phase("old"):
            found = step_read(policy, batch, needs, max_tokens)
        added |= {"logp": found["logp"]} if Need.CURRENT in needs else {}
        added |= {"logp_old": found["logp"]} if old else {}
        added |= {"value_old": found["value"]} if critic else {}
        added |= {"value": found["value"]} if Need.VALUE in needs and Need.CURRENT in needs else {}
    if Need.REF in needs:
        assert reference is not None, "the objective needs a reference"
        with phase("reference"):
            added["logp_ref"] = step_log_probs(reference.log_probs, batch, max_tokens)
    return replace(batch, candidates=replace(batch.candidates, **added))
