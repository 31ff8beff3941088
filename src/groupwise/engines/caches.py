"""Keys and values of the tokens seen so far, for the two ways the local engine can run a model.

Both offer: `logits` of the first new token after the prompts, `step(tokens)` for the next ones, and
`keep(rows)` when finished rows leave.

Legend: G prompts of P tokens, N rows, H key heads, R query heads a key head, E head size, S new tokens so far.
"""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from groupwise.data.batch import collate
from groupwise.models.policy import Policy
from groupwise.models.prefix import PackedRow, gather

FEW = 512  # keys of all rows together; up to so many, one fused call on copies beats two products that share


class SharedPromptCache:
    """The prompt's keys and values once for all its candidates; each row holds only its own new tokens'."""

    def __init__(self, policy: Policy, prompts: Sequence[tuple[int, ...]], k: int) -> None:
        self.policy = policy
        device = policy.device
        prefill = _Prefill(prompts, device)
        hidden = policy.module.decoder(use_cache=False, **prefill.inputs).last_hidden_state[0]
        last = prefill.prompt_length.cumsum(0) - 1
        self.logits = policy.module.head.logits(hidden[last]).repeat_interleave(k, 0)
        self.prompt = prefill.stored  # layer -> keys and values [G, H, P, E]
        self.own: dict[int | None, tuple[Tensor, Tensor]] = {}  # layer -> keys and values [N, H, S, E]
        self.prompt_length = prefill.prompt_length
        self.prompt_of = torch.arange(len(prompts), device=device).repeat_interleave(k)
        self.longest_prompt = int(self.prompt_length.max())
        self.steps = self.room = 0  # new tokens so far, and how many fit
        self._arrange()

    def step(self, tokens: Int[Tensor, "N"]) -> Float[Tensor, "N V"]:
        """Feed each row's newest token; logits of the next."""
        self.steps += 1
        if self.steps > self.room:
            self._grow()
        position = self.prompt_length[self.prompt_of] + self.steps - 1
        hidden = self.policy.module.decoder(
            input_ids=tokens[None], position_ids=position[None], use_cache=False, groupwise_layout=self
        ).last_hidden_state[0]
        return self.policy.module.head.logits(hidden)

    def keep(self, rows: Int[Tensor, "N"]) -> None:
        """Drop all other rows, and prompts that have no row left."""
        prompts, self.prompt_of = torch.unique(self.prompt_of[rows], return_inverse=True)
        self.own = {layer: (k[rows], v[rows]) for layer, (k, v) in self.own.items()}
        if len(prompts) < len(self.prompt_length):
            self.prompt = {layer: (k[prompts], v[prompts]) for layer, (k, v) in self.prompt.items()}
            self.prompt_length = self.prompt_length[prompts]
        self._arrange()

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, scale: float, window: int | None, layer: int | None
    ) -> Tensor:
        """One new token a row, [1, H R, N, E] to [1, N, H R, E], over its prompt's keys and its own.

        The rows of a prompt stand side by side, so that its keys and values are read once for all of them.
        One softmax runs over both kinds of key.
        """
        q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
        if layer not in self.own:
            self.own[layer] = (self._room_for(k), self._room_for(v))
        own_k, own_v = (x[:, :, : self.steps] for x in self.own[layer])
        own_k[:, :, -1], own_v[:, :, -1] = k, v
        prompt_k, prompt_v = self.prompt[layer]
        n, heads, size = k.shape
        if n * (self.longest_prompt + self.steps) <= FEW:
            if layer not in self.copies:
                self.copies[layer] = (prompt_k[self.prompt_of], prompt_v[self.prompt_of])
            keys, values = (torch.cat(pair, 2) for pair in zip(self.copies[layer], (own_k, own_v), strict=True))
            return self._attend_to_copies(q, keys, values, scale=scale, window=window)
        q = (q * scale).reshape(n, heads, -1, size)
        to_prompt = self._to_rows(self._to_grid(q) @ prompt_k.mT)
        scores = torch.cat([to_prompt, q @ own_k.mT], 3)
        if self.padding is not None:
            scores[..., : self.padding.shape[-1]].masked_fill_(self.padding, -torch.inf)
        if window is not None:
            scores.masked_fill_(self._left_behind(window), -torch.inf)
        probs = torch.softmax(scores, 3)
        split = prompt_k.shape[2]
        out = self._to_rows(self._to_grid(probs[..., :split]) @ prompt_v) + probs[..., split:] @ own_v
        return out.reshape(1, n, -1, size)

    def _attend_to_copies(self, q: Tensor, k: Tensor, v: Tensor, *, scale: float, window: int | None) -> Tensor:
        """The same for a few rows, each with all of its keys: there the number of calls is what costs."""
        hidden = None if self.padding is None else pad(self.padding, (0, self.steps))
        if window is not None:
            passed = self._left_behind(window)
            hidden = passed if hidden is None else passed | hidden
        mask = None if hidden is None else ~hidden
        grouped = q.shape[1] != k.shape[1]
        out = scaled_dot_product_attention(q[:, :, None], k, v, attn_mask=mask, scale=scale, enable_gqa=grouped)
        return out.transpose(1, 2).transpose(0, 1)

    def _to_grid(self, x: Tensor) -> Tensor:
        """Rows [N, H, R, *] side by side under their prompt: [G, H, K R, *]."""
        grid = x.view(*self.grid, *x.shape[1:]) if self.full else gather(x, self.row_at)
        return grid.transpose(1, 2).flatten(2, 3)

    def _to_rows(self, x: Tensor) -> Tensor:
        """Back from [G, H, K R, *] to [N, H, R, *]."""
        prompts, heads, _, size = x.shape
        rows = x.view(prompts, heads, self.grid[1], -1, size).transpose(1, 2).flatten(0, 1)
        return rows if self.full else gather(rows, self.place_of_row)

    def _room_for(self, x: Tensor) -> Tensor:
        return x.new_empty(*x.shape[:2], self.room, x.shape[2])

    def _left_behind(self, window: int) -> Tensor:
        """True on keys that a sliding window has passed: [N, 1, 1, P + S]."""
        length = self.prompt_length[self.prompt_of, None]
        at = torch.arange(self.longest_prompt, device=length.device).expand(len(length), -1)
        own_at = length + torch.arange(self.steps, device=length.device)
        return (length + self.steps - 1 - torch.cat([at, own_at], 1) >= window)[:, None, None]

    def _arrange(self) -> None:
        """Where each row stands in the grid of rows under prompts; rows are in the order of their prompts."""
        self.copies: dict[int | None, tuple[Tensor, Tensor]] = {}  # the prompt's keys and values for each row, if few
        count = torch.bincount(self.prompt_of, minlength=len(self.prompt_length))
        width = int(count.max())
        self.grid = (len(count), width)
        self.full = len(self.prompt_of) == len(count) * width  # then the rows are the grid as they stand
        rows = torch.arange(len(self.prompt_of), device=count.device)
        self.place_of_row = self.prompt_of * width + rows - (count.cumsum(0) - count)[self.prompt_of]
        self.row_at = rows.new_zeros(len(count) * width).scatter_(0, self.place_of_row, rows).view(-1, width)
        length = self.prompt_length[self.prompt_of]
        behind_end = torch.arange(self.longest_prompt, device=length.device) >= length[:, None]
        self.padding = behind_end[:, None, None] if bool(behind_end.any()) else None

    def _grow(self) -> None:
        self.room = max(16, 2 * self.room)
        for layer, (k, v) in self.own.items():
            wider = k.new_empty(*k.shape[:2], self.room, k.shape[3]), v.new_empty(*v.shape[:2], self.room, v.shape[3])
            for new, old in zip(wider, (k, v), strict=True):
                new[:, :, : old.shape[2]] = old
            self.own[layer] = wider


class _Prefill(PackedRow):
    """Prompts alone in a packed row; keeps their keys and values."""

    def __init__(self, prompts: Sequence[tuple[int, ...]], device: torch.device) -> None:
        self.stored: dict[int | None, tuple[Tensor, Tensor]] = {}
        super().__init__(replace(collate([]), prompts=tuple(prompts)), device)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, scale: float, window: int | None, layer: int | None
    ) -> Tensor:
        k, v = (gather(x[0].transpose(0, 1), self.prompt_place).transpose(1, 2).contiguous() for x in (key, value))
        self.stored[layer] = (k, v)
        return super().attend(query, key, value, scale=scale, window=window, layer=layer)


class ModelCache:
    """The model's own cache, one copy of the prompt a row: for families that cannot share prompts.

    All prompts must be of one length, so that nothing is padded (a recurrent layer would read the padding).
    """

    def __init__(self, policy: Policy, prompts: Sequence[tuple[int, ...]], k: int) -> None:
        assert len(set(map(len, prompts))) == 1, "prompts of one length only"
        self.policy = policy
        decoder = policy.module.decoder
        parameters = inspect.signature(decoder.forward).parameters
        self.name = next(n for n in ("cache", "past_key_values", "cache_params") if n in parameters)
        self.seen = len(prompts[0])
        self.cache: Any = None
        ids = torch.tensor(prompts, device=policy.device).repeat_interleave(k, 0)
        self.logits = self._feed(ids)

    def step(self, tokens: Int[Tensor, "N"]) -> Float[Tensor, "N V"]:
        """Feed each row's newest token; logits of the next."""
        self.seen += 1
        return self._feed(tokens[:, None])

    def keep(self, rows: Int[Tensor, "N"]) -> None:
        """Drop all other rows."""
        self.cache.reorder_cache(rows)

    def _feed(self, ids: Tensor) -> Tensor:
        past = {} if self.cache is None else {self.name: self.cache}
        out = self.policy.module.decoder(input_ids=ids, use_cache=True, **past)
        self.cache = getattr(out, self.name)
        return self.policy.module.head.logits(out.last_hidden_state[:, -1])
