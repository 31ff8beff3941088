"""Tensors that may lie in shards over several ranks, and their whole."""

from typing import Any

from torch import Tensor


def whole(value: Any) -> Any:
    """A sharded tensor gathered on every rank (a collective); anything else as it is."""
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def like(value: Any, parameter: Tensor) -> Any:
    """A whole tensor of the parameter's shape, sharded as the parameter is; anything else as it is."""
    if not hasattr(parameter, "device_mesh") or not isinstance(value, Tensor) or value.shape != parameter.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)  # type: ignore[attr-defined]  # a DTensor
