"""An objective's own measurements on given groups that training never sees: loss, preference accuracy, margins."""

from collections.abc import Sequence

import torch

from groupwise.candidates import Group, Need, Objective, why_unjudged
from groupwise.data.batch import collate
from groupwise.errors import DataError
from groupwise.evaluate.intervals import wilson
from groupwise.models.annotate import annotate
from groupwise.models.reference import Reference
from groupwise.models.trained import Reader


@torch.no_grad()
def evaluate_held_out(
    policy: Reader,
    objective: Objective,
    groups: Sequence[Group],
    *,
    reference: Reference | None = None,
    max_tokens: int = 16384,
) -> dict[str, float]:
    """The loss and its statistics over all groups as one step; `accuracy` comes with its 95 % interval."""
    batch = collate(groups, device=policy.device)
    if not batch.responses:
        raise DataError(f"evaluate.data: no response has a score, so nothing can be measured: {why_unjudged(groups)}")
    needs = objective.needs | Need.CURRENT
    batch = annotate(batch, needs, policy, reference=reference, moves=False, max_tokens=max_tokens)
    out = objective(objective.prepare(batch.candidates))
    found = {"heldout/loss": out.loss.item()}
    for name, mean in out.stats.items():
        if name != "loss":
            found[f"heldout/{name}"] = mean.value
    if "accuracy" in out.stats:
        accuracy = out.stats["accuracy"]
        if not accuracy.count:
            raise DataError(
                f"evaluate.data: none of the {len(groups)} prompts has two responses with different scores, so there "
                "is no accuracy to measure; give rows that compare responses"
            )
        interval = wilson(round(accuracy.total), round(accuracy.count))
        found |= {"heldout/accuracy_low": interval.low, "heldout/accuracy_high": interval.high}
    return found
