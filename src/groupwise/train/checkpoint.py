"""The state that training goes on from. Atomicity is `Run.save_checkpoint`'s: see runs/write.py.

run.save_checkpoint(step, lambda directory: save_state(directory, policy.save, ...))
"""

import json
import pickle
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from groupwise.errors import ConfigError, DataError

MODEL, OPTIMIZER, RANDOM, STATE = "model", "optimizer.pt", "random.pt", "state.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingState:
    """What a checkpoint holds, on the CPU."""

    step: int  # steps done, the number of the next one
    model: Path  # the directory that `write_model` filled
    optimizer: dict[str, Any]  # for `Optimizer.load_state_dict`
    source: dict[str, Any]  # for `Source.load_state_dict`
    objective: dict[str, Any]  # its fields, which may have adapted
    random: dict[str, Any]

    def restore_random(self) -> None:
        """Set the random states of torch, Python and numpy: last, right before the next step."""
        torch.set_rng_state(self.random["torch"])
        if self.random["cuda"] and len(self.random["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(self.random["cuda"])
        version, internal, following = self.random["python"]
        random.setstate((version, tuple(internal), following))
        name, keys, *rest = self.random["numpy"]
        np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))


def save_state(
    directory: Path,
    write_model: Callable[[Path], None],
    *,
    step: int,
    optimizer: Mapping[str, Any],
    source: Mapping[str, Any],
    objective: Mapping[str, Any],
    identity: Mapping[str, Any],
) -> None:
    """Fill `directory` with all that training goes on from after `step` steps.

    `write_model` fills a folder with weights that training can continue from exactly: adapters must not be
    merged. `optimizer` and `source` are the `state_dict()` of each; all but `optimizer` is plain JSON.
    `identity` says what must be the same in the run that goes on: model, objective, optimizer, seed.
    """
    (directory / MODEL).mkdir()
    write_model(directory / MODEL)
    torch.save(dict(optimizer), directory / OPTIMIZER)
    torch.save(_random_state(), directory / RANDOM)
    state = {"step": step, "source": source, "objective": objective, "identity": identity}
    (directory / STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")


def load_state(directory: Path, *, identity: Mapping[str, Any]) -> TrainingState:
    """What `save_state` wrote.

    DataError if a file is missing or damaged; ConfigError if the checkpoint's `identity` is another.
    """
    directory = Path(directory)
    for name in (STATE, MODEL, OPTIMIZER, RANDOM):
        if not (directory / name).exists():
            raise DataError(f"checkpoint {directory} has no {name}: it is damaged or none of ours; {_WAY_OUT}")
    try:
        state = json.loads((directory / STATE).read_bytes())
        step, source, objective, saved = (state[name] for name in ("step", "source", "objective", "identity"))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{directory / STATE} is damaged ({error!r}); {_WAY_OUT}") from error
    _check_identity(directory, saved, json.loads(json.dumps(identity)))
    return TrainingState(
        step=step,
        model=directory / MODEL,
        source=source,
        objective=objective,
        optimizer=_load_tensors(directory / OPTIMIZER),
        random=_load_tensors(directory / RANDOM),
    )


_WAY_OUT = "remove it to go on from the one before, or start a new run"


def _check_identity(directory: Path, saved: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    before, now = dict(_settings(saved)), dict(_settings(asked))
    differing = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if differing:
        found = "; ".join(f"{name} is {now.get(name)!r}, was {before.get(name)!r}" for name in differing)
        raise ConfigError(
            f"checkpoint {directory} is of another configuration: {found}. Put it back, or start a new run"
        )


def _settings(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of each setting."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _load_tensors(path: Path) -> dict[str, Any]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise DataError(f"{path} is damaged ({reason or type(error).__name__}); {_WAY_OUT}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path} holds {type(found).__name__}, must be a dict; {_WAY_OUT}")
    return found


def _random_state() -> dict[str, Any]:
    version, internal, following = random.getstate()
    name, keys, *rest = np.random.get_state()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": [version, list(internal), following],
        "numpy": [name, [int(key) for key in keys], *rest],
    }
