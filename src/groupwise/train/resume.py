"""Save everything that training goes on from, and go on from it to the bit."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from groupwise.candidates import Objective
from groupwise.errors import DataError, ModelError, TrainingError
from groupwise.models.reference import Reference
from groupwise.models.trained import Reader
from groupwise.runs.write import Run
from groupwise.train.checkpoint import load_state, save_state
from groupwise.train.distributed import this_world
from groupwise.train.optim import Optimizer
from groupwise.train.source import Source

WEIGHTS = "trained.safetensors"  # the parameters that are trained, by name: adapters are not merged
REFERENCE = "reference.safetensors"  # of a reference that follows the policy


def save_checkpoint(
    run: Run,
    step: int,
    policy: Reader,
    optimizer: Optimizer,
    source: Source,
    *,
    objective: Objective,
    reference: Reference | None,
) -> None:
    """A checkpoint after `step` steps. With several ranks all take part and the leading one writes."""
    weights = policy.trained_state()
    bad = [name for name, value in weights.items() if not value.isfinite().all()]
    if bad:
        raise TrainingError(
            f"after step {step - 1}, {len(bad)} tensors of weights are NaN or infinite, the first {bad[0]}: training "
            "diverged, and they are not saved; lower optimizer.learning_rate"
        )
    moments = optimizer.state_dict()
    followed = {} if reference is None else reference.state()

    def write(model: Path) -> None:
        save_file(weights, model / WEIGHTS)
        if followed:
            save_file({name: value.contiguous() for name, value in followed.items()}, model / REFERENCE)

    if this_world().leads:
        run.save_checkpoint(
            step,
            lambda directory: save_state(
                directory,
                write,
                step=step,
                optimizer=moments,
                source=source.state_dict(),
                objective=asdict(objective),  # type: ignore[call-overload]  # every method is a dataclass
                identity=_identity(run),
            ),
        )


def load_checkpoint(
    run: Run,
    policy: Reader,
    optimizer: Optimizer,
    source: Source,
    *,
    objective: Objective,
    reference: Reference | None,
) -> Objective:
    """Restore the newest checkpoint, if there is one; the objective as it had adapted."""
    newest = run.latest_checkpoint()
    if newest is None:
        return objective
    state = load_state(newest, identity=_identity(run))
    try:
        policy.set_trained_state(load_file(state.model / WEIGHTS))
        if reference is not None and (state.model / REFERENCE).is_file():
            reference.set_state(load_file(state.model / REFERENCE))
        optimizer.load_state_dict(state.optimizer)
        source.load_state_dict(state.source)
        state.restore_random()
    except (OSError, SafetensorError, ModelError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{newest} cannot be gone on with ({error!r}): remove this checkpoint to go on from an earlier one"
        ) from error
    return replace(objective, **state.objective)  # type: ignore[type-var]  # every method is a dataclass


def _identity(run: Run) -> dict[str, Any]:
    """What must not change between the run and its continuation: all but what is only reported or kept."""
    free = {"keep_checkpoints", "save_every", "max_tokens"}
    config: dict[str, Any] = {**run.config}
    return {**config, "train": {k: v for k, v in dict(config.get("train", {})).items() if k not in free}}
