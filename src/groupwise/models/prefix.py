"""One forward pass over groups with every prompt computed once.

A packed row is `[p1, r11 .. r1K, p2, r21 ..]`. Positions restart after the prompt for each response, and
a response attends to its prompt and to itself. The linear layers run on the packed row, which holds no
padding; the attention, in a function registered with transformers, gathers its padded blocks from it.

Legend: G prompts of P tokens, N responses of R tokens fed (one fewer than it has: its last token predicts
nothing), L packed tokens, M scored tokens, H heads, E head size.
"""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, scaled_dot_product_attention

from groupwise.data.batch import Batch
from groupwise.errors import ModelError
from groupwise.models import shared_attention
from groupwise.models.shared_attention import Sharing

ATTENTION = "groupwise"


class UnsupportedAttentionError(ModelError):
    """The model asks its attention for something that the packed row does not honour."""


class PackedRow:
    """Where each token of a batch stands in the packed row, and who attends to whom."""

    def __init__(self, batch: Batch, device: torch.device) -> None:
        segments, prompt_segment, response_segment = _segments(batch)
        lengths = [len(ids) for ids, _ in segments]
        start = torch.tensor([0, *accumulate(lengths)][:-1])
        length = torch.tensor(lengths)
        self.prompt_of = torch.tensor(batch.prompt_of, dtype=torch.long)
        self._blocks(start, length, torch.tensor(prompt_segment), torch.tensor(response_segment, dtype=torch.long))
        self._scored(batch, start, length, prompt_segment, response_segment)
        self.inputs: dict[str, Any] = {
            "input_ids": torch.tensor([[i for ids, _ in segments for i in ids]], device=device),
            "position_ids": torch.cat([torch.arange(at, at + len(ids)) for ids, at in segments])[None].to(device),
            "groupwise_layout": self,
        }
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value.to(device))
        self.sharing = Sharing.of(self.prompt_of, self.prompt_length)
        self._window_masks: dict[int | None, tuple[Tensor | None, Tensor]] = {}
        self.attended: dict[int | None, int | None] = {}  # layers that called `attend`, and their window

    def _blocks(self, start: Tensor, length: Tensor, prompt: Tensor, response: Tensor) -> None:
        """Packed places of the padded blocks [G, P] and [N, R], and the way back."""
        self.prompt_length, self.response_length = length[prompt], length[response]
        p_at = torch.arange(int(self.prompt_length.max()))
        r_at = torch.arange(int(self.response_length.max()) if len(response) else 0)
        p_real, r_real = p_at < self.prompt_length[:, None], r_at < self.response_length[:, None]
        self.prompt_place = torch.where(p_real, start[prompt, None] + p_at, 0)
        self.response_place = torch.where(r_real, start[response, None] + r_at, 0)
        self.key_place = torch.cat([self.prompt_place[self.prompt_of], self.response_place], 1)
        padded_of_packed = torch.empty(int(length.sum()), dtype=torch.long)
        padded_of_packed[self.prompt_place[p_real]] = p_real.flatten().nonzero()[:, 0]
        padded_of_packed[self.response_place[r_real]] = p_real.numel() + r_real.flatten().nonzero()[:, 0]
        self.padded_of_packed = padded_of_packed

    def _scored(self, batch: Batch, start: Tensor, length: Tensor, prompt: list[int], response: list[int]) -> None:
        """For each scored token, the packed place that predicts it: the token before it."""
        row, token = batch.candidates.mask.cpu().nonzero().unbind(1)
        own = torch.tensor(response, dtype=torch.long)[row]
        before = torch.tensor(prompt)[self.prompt_of[row]]
        self.predict_from = torch.where(token > 0, start[own] + token - 1, start[before] + length[before] - 1)
        self.targets = scored_tokens(batch)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, scale: float, window: int | None, layer: int | None
    ) -> Tensor:
        """[1, H, L, E] to [1, L, H, E]: prompts causally, responses to their prompt and causally to themselves."""
        self.attended[layer] = window
        q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
        at, own = self.prompt_place, self.response_place
        of_prompt = gather(q, at), gather(k, at), gather(v, at)
        fused = window is None and shared_attention.serves(q, v)
        blocks = [_attention(*of_prompt, None if fused else self._masks(window)[0], scale)]
        if own.numel() and fused:
            of_own = gather(k, own), gather(v, own)
            blocks.append(shared_attention.attend(gather(q, own), of_prompt[1:], of_own, self.sharing, scale=scale))
        elif own.numel():
            keys, mask = self.key_place, self._masks(window)[1]
            blocks.append(_attention(gather(q, own), gather(k, keys), gather(v, keys), mask, scale))
        return gather(torch.cat([block.flatten(0, 1) for block in blocks]), self.padded_of_packed)[None]

    def _masks(self, window: int | None) -> tuple[Tensor | None, Tensor]:
        """Attention masks [1, 1, P, P] (None: plain causal) and [N, 1, R, P + R]; the same for every layer."""
        if window not in self._window_masks:
            device = self.prompt_place.device
            p_at = torch.arange(self.prompt_place.shape[1], device=device)
            r_at = torch.arange(self.response_place.shape[1], device=device)
            length = self.prompt_length[self.prompt_of, None]
            to_prompt = (p_at < length)[:, None].expand(-1, len(r_at), -1)
            to_own = (r_at[:, None] >= r_at).expand(len(length), -1, -1)
            response = torch.cat([to_prompt, to_own], 2)
            prompt = None
            if window is not None:
                prompt = ((p_at[:, None] >= p_at) & (p_at[:, None] - p_at < window))[None, None]
                key_at = torch.cat([p_at.expand(len(length), -1), length + r_at], 1)
                response = response & ((length + r_at)[:, :, None] - key_at[:, None] < window)
            self._window_masks[window] = (prompt, response[:, None])
        return self._window_masks[window]


class PaddedRows:
    """The plain layout: each response after its own copy of the prompt, padded on the right.

    There is no padding mask: what stands to the right of a token is nothing to a causal model. (With one, a
    padded place whose sliding window holds padding only may come out as NaN, and spoil the row.)
    For families whose attention the packed row cannot express, and as the reference it is tested against.
    """

    def __init__(self, batch: Batch, device: torch.device) -> None:
        rows = [batch.prompts[g] + r[:-1] for g, r in zip(batch.prompt_of, batch.responses, strict=True)]
        width = max(map(len, rows))
        ids = torch.tensor([[*row, *([row[0]] * (width - len(row)))] for row in rows], device=device)
        row, token = batch.candidates.mask.cpu().nonzero().unbind(1)
        prompt_length = torch.tensor([len(batch.prompts[g]) for g in batch.prompt_of])
        self.predict_from = (row * width + prompt_length[row] - 1 + token).to(device)
        self.targets = scored_tokens(batch).to(device)
        self.inputs: dict[str, Any] = {"input_ids": ids}


def scored_tokens(batch: Batch) -> Tensor:
    """Ids of the tokens under the mask, row by row: [M]."""
    width = batch.candidates.mask.shape[1]
    ids = torch.tensor([[*r, *([0] * (width - len(r)))] for r in batch.responses], dtype=torch.long)
    ids = ids.reshape(len(batch.responses), width)
    return ids[batch.candidates.mask.cpu()]


def _segments(batch: Batch) -> tuple[list[tuple[tuple[int, ...], int]], list[int], list[int]]:
    """Token ids and first position of each stretch of the packed row; which are prompts, which responses.

    A response's last token is not fed: it predicts nothing.
    """
    segments: list[tuple[tuple[int, ...], int]] = []
    prompts, responses = [], []
    rows = list(zip(batch.prompt_of, batch.responses, strict=True))
    n = 0
    for g, prompt in enumerate(batch.prompts):
        prompts.append(len(segments))
        segments.append((prompt, 0))
        while n < len(rows) and rows[n][0] == g:
            responses.append(len(segments))
            segments.append((rows[n][1][:-1], len(prompt)))
            n += 1
    return segments, prompts, responses


def gather(x: Tensor, place: Tensor) -> Tensor:
    """x[place] along the first dimension, as an embedding look-up: its backward is ten times as fast as indexing's."""
    return embedding(place, x.reshape(len(x), -1)).view(*place.shape, *x.shape[1:])


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Blocks [B, S, H, E] to [B, S, H, E]; without a mask, causal."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    grouped = q.shape[1] != k.shape[1]
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=grouped)
    return out.transpose(1, 2)


def _attention_function(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, None]:
    """What transformers calls in every attention layer; the layout of the batch says what to do."""
    layout = kwargs.get("groupwise_layout")
    if layout is None:
        raise UnsupportedAttentionError(
            f"{type(module).__name__} was called without the batch's layout; a policy's model runs through the policy"
        )
    for name in ("softcap", "s_aux", "position_bias"):
        if kwargs.get(name) is not None:
            raise UnsupportedAttentionError(f"{type(module).__name__} uses `{name}`")
    scale = kwargs.get("scaling")
    out = layout.attend(
        query,
        key,
        value,
        scale=query.shape[-1] ** -0.5 if scale is None else scale,
        window=kwargs.get("sliding_window"),
        layer=getattr(module, "layer_idx", None),
    )
    return out, None


def register() -> None:
    """Make the attention function known to transformers under the name `groupwise`."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attention_function)
