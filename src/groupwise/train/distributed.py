"""Several processes under torchrun: ranks, collectives and sharding. The only place that communicates.

Every rank holds the whole step's groups (they are small), so the step's totals need no communication. A
rank runs its share of the micro-batches; FSDP2 averages gradients over ranks, so each loss is multiplied by
their number.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from groupwise.candidates import Mean
from groupwise.models.trained import Trained

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """This process among its peers."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this rank writes files and speaks."""
        return self.rank == 0

    def gather(self, mine: list[T]) -> list[T]:
        """The lists of all ranks, one after the other, on every rank."""
        if self.size == 1:
            return mine
        lists: list[Any] = [None] * self.size
        dist.all_gather_object(lists, mine)
        return [item for found in lists for item in found]

    def share(self, items: Sequence[T]) -> list[tuple[T, bool]]:
        """This rank's items, as many on every rank: (item, whether it counts).

        FSDP2's forward is a collective, so a rank with fewer micro-batches runs one more that counts for nothing.
        """
        if not items:
            return []
        mine = [(items[i], True) for i in range(self.rank, len(items), self.size)]
        rounds = -(-len(items) // self.size)
        return mine + [(items[-1], False)] * (rounds - len(mine))

    def add(self, stats: Mapping[str, Mean]) -> dict[str, Mean]:
        """Statistics summed over ranks."""
        total: dict[str, Mean] = {}
        for name, mean in self.gather(list(stats.items())):
            total[name] = total[name] + mean if name in total else mean
        return total

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.size > 1:
            dist.barrier()


def join_world() -> "World":
    """Join the peers that torchrun described in the environment; a world of one without it."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return this_world()


def this_world() -> "World":
    """The world this process has joined."""
    return World(dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else World()


def leave_world() -> None:
    """Close the process group."""
    if dist.is_initialized():
        dist.destroy_process_group()


def shard(policy: Trained) -> None:
    """Shard the policy's parameters, gradients and optimizer state over all ranks (FSDP2), layer by layer."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(policy.device.type, (dist.get_world_size(),))
    for layer in policy.layers():
        fully_shard(layer, mesh=mesh)
    fully_shard(policy.module, mesh=mesh)
