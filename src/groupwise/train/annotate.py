"""Add what the objective needs to a step's batch: log-probabilities of other models, without gradient."""

from dataclasses import replace
from typing import Any

from groupwise.candidates import Need
from groupwise.data.batch import Batch
from groupwise.models.policy import Policy
from groupwise.models.reference import Reference
from groupwise.models.scoring import step_log_probs


def annotate(
    batch: Batch, needs: Need, policy: Policy, *, reference: Reference | None, moves: bool, max_tokens: int
) -> Batch:
    """The batch with `logp_ref` and `logp_old` where they are needed.

    `moves` says that the policy takes more than one optimizer step on this batch. Otherwise the policy
    that is trained is the one that sampled, the ratio is exactly 1, and no pass is spent on `logp_old`.
    """
    added: dict[str, Any] = {}
    if Need.REF in needs:
        assert reference is not None, "the objective needs a reference"
        added["logp_ref"] = step_log_probs(reference.log_probs, batch, max_tokens)
    if Need.OLD in needs and moves:
        added["logp_old"] = step_log_probs(policy.log_probs, batch, max_tokens)
    return replace(batch, candidates=replace(batch.candidates, **added))
