"""How many tokens can be read at a time: what they keep for the backward pass, beside the memory that is free."""

from pathlib import Path

import torch

from groupwise.candidates import Completion, Group, Need
from groupwise.data.batch import collate
from groupwise.models.trained import Reader

LEAST, MOST = 512, 16384  # tokens; more gain nothing, and where fewer fit another model should be taken
SHARE = 0.5  # of the memory that is left: the rest is for gradients on their way and what else there is
PROBE = 64  # tokens of the shorter of two passes whose difference tells what a token keeps
CGROUP = Path("/sys/fs/cgroup")


def tokens_that_fit(model: Reader, needs: Need = Need.NONE) -> int:
    """A power of two from 512 to 16,384, so that what is free may differ a little and the number does not.

    tokens = SHARE (free - gradients - moments) / bytes that a token keeps

    The bytes are counted in two passes over 64 and 192 tokens; gradients and AdamW's moments are 12 bytes a parameter
    in float32.
    """
    trained = sum(3 * p.numel() * p.element_size() for p in model.parameters())
    left = SHARE * (free_memory(model.device) - trained)
    of_token = (kept(model, 3 * PROBE, needs) - kept(model, PROBE, needs)) / (2 * PROBE)
    tokens = int(min(max(left / max(of_token, 1.0), LEAST), MOST))
    return 1 << tokens.bit_length() - 1


def kept(model: Reader, tokens: int, needs: Need = Need.NONE) -> int:
    """Bytes that a pass over a prompt and a response, of so many tokens together, keeps for the backward pass."""
    half = (3,) * (tokens // 2)  # any token will do
    group = Group(prompt_ids=half, completions=(Completion(token_ids=half, text="", score=0.0),))
    batch = collate([group], device=model.device)
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    found: dict[int, int] = {}

    def note(x: torch.Tensor) -> torch.Tensor:
        storage = x.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        read = model.read(batch, needs)
    del read  # until here nothing that was noted could be freed and its place taken
    return sum(found.values())


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device now; of a machine's memory no more than its control group allows."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 4 << 30  # a system that does not say: as on a small machine
    try:
        limit, used = ((CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return min(free, int(limit) - int(used)) if limit != "max" else free
    except (OSError, ValueError):
        return free
