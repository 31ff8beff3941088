"""A frozen reference asked once for each given response; its answers are kept on disk."""

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from groupwise.data.batch import Batch
from groupwise.models.reference import Reference
from groupwise.models.trained import Reader

_HEAD = struct.Struct("<16sI")  # digest of a row, and how many float32 follow


class CachedReference:
    """The log-probabilities of rows that have been asked for before come from a file, all others from `inner`.

    A row's key is its token ids and which of them are trained, so it changes with tokenizer, template and data; the
    file's name is `fingerprint(model)`, so it changes with the weights. Records are appended and a torn last one is
    dropped, so a stop at any moment costs one recomputation; a run that goes on reads what it had read.
    """

    def __init__(self, inner: Reference, file: Path, *, writes: bool = True) -> None:
        self.inner, self.file, self.writes = inner, file, writes
        self.rows: dict[bytes, np.ndarray] = {}
        end = self._load()
        if writes and file.is_file() and end < file.stat().st_size:
            with file.open("r+b") as handle:
                handle.truncate(end)

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """As `inner.log_probs`."""
        mask = batch.candidates.mask
        keys = [self._key(batch, n, mask[n].tolist()) for n in range(len(batch.responses))]
        if any(key not in self.rows for key in keys):
            found = self.inner.log_probs(batch).to(torch.float32).cpu()
            self._keep({key: found[n].numpy() for n, key in enumerate(keys) if key not in self.rows})
        values = torch.zeros(mask.shape)
        for n, key in enumerate(keys):
            row = torch.from_numpy(self.rows[key])
            values[n, : len(row)] = row
        return values.to(mask.device)

    def after_step(self, step: int, policy: Reader) -> None:
        """Nothing to do: it stands still."""

    def state(self) -> dict[str, Tensor]:
        """Nothing moves."""
        return {}

    def set_state(self, state: Mapping[str, Tensor]) -> None:
        """Nothing to take over."""

    @staticmethod
    def _key(batch: Batch, n: int, mask: list[bool]) -> bytes:
        response = batch.responses[n]
        shown = repr((batch.prompts[batch.prompt_of[n]], response, mask[: len(response)]))
        return hashlib.blake2b(shown.encode(), digest_size=16).digest()

    def _keep(self, rows: Mapping[bytes, np.ndarray]) -> None:
        trimmed = {key: np.trim_zeros(row, "b").copy() for key, row in rows.items()}
        self.rows |= trimmed
        if self.writes:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("ab") as handle:
                for key, row in trimmed.items():
                    handle.write(_HEAD.pack(key, len(row)) + row.astype("<f4").tobytes())

    def _load(self) -> int:
        """Read the file's whole records; where the last of them ends."""
        data = self.file.read_bytes() if self.file.is_file() else b""
        at = 0
        while at + _HEAD.size <= len(data):
            key, count = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + 4 * count
            if end > len(data):
                break
            self.rows[key] = np.frombuffer(data, dtype="<f4", count=count, offset=at + _HEAD.size).copy()
            at = end
        return at


def fingerprint(model: nn.Module, *settings: object) -> str:
    """A name that changes with any weight of the model and with these settings."""
    digest = hashlib.blake2b(repr(settings).encode(), digest_size=16)
    for name, parameter in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(parameter.shape)}{parameter.dtype}".encode())
        digest.update(parameter.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
