"""Attention of responses to a prompt that they share and to themselves, without a copy of the prompt for each.

A softmax over two sets of keys is the mean of the softmaxes over each, weighted by their sums of exponentials:

    out = sum_j exp(l_j - l) out_j          l_j = logsumexp of the scores over set j,   l = logsumexp_j l_j

and a fused kernel's backward pass over set j gives that set's share of the gradient when it is handed `out` and `l` in
place of its own (as in ring attention, arXiv:2310.01889, between machines). Nothing is kept but what came in, `out`
and `l`.

Legend: G prompts of P tokens, N responses of R tokens, K of them to a prompt at most, H heads, h key heads, E head
size.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which prompt each response follows."""

    row_at: Tensor  # [G, K] rows of each prompt; any row where it has fewer
    place_of_row: Tensor  # [N] where each row stands in that grid
    full: bool  # whether the grid is the rows as they stand
    behind_end: Tensor | None  # [G, P] True behind the end of a prompt; None: all are of one length

    @classmethod
    def of(cls, prompt_of: Tensor, prompt_length: Tensor) -> "Sharing":
        """Rows that stand in the order of their prompts."""
        prompts, longest = len(prompt_length), int(prompt_length.max())
        count = torch.bincount(prompt_of, minlength=prompts)
        width = int(count.max()) if len(prompt_of) else 0
        rows = torch.arange(len(prompt_of), device=prompt_of.device)
        place = prompt_of * width + rows - (count.cumsum(0) - count)[prompt_of]
        row_at = rows.new_zeros(prompts * width).scatter_(0, place, rows).view(prompts, width)
        behind_end = torch.arange(longest, device=prompt_of.device) >= prompt_length[:, None]
        return cls(row_at, place, len(rows) == prompts * width, behind_end if bool(behind_end.any()) else None)

    def to_grid(self, x: Tensor, heads: int) -> Tensor:
        """[N, R, H, *] to [G, h, H/h K R, *]: all queries of a prompt that read one key head, side by side."""
        grid = x if self.full else x[self.row_at.flatten()]
        prompts, width = self.row_at.shape
        grid = grid.reshape(prompts, width, x.shape[1], heads, -1, x.shape[3]).permute(0, 3, 4, 1, 2, 5)
        return grid.reshape(prompts, heads, -1, x.shape[3])

    def to_rows(self, x: Tensor, tokens: int) -> Tensor:
        """Back to [N, R, H, *]."""
        prompts, heads, _, size = x.shape
        width = self.row_at.shape[1]
        rows = x.view(prompts, heads, -1, width, tokens, size).permute(0, 3, 4, 1, 2, 5)
        rows = rows.reshape(prompts * width, tokens, -1, size)
        return rows if self.full else rows[self.place_of_row]

    def mask(self, like: Tensor) -> Tensor | None:
        """What is added to the scores of a prompt's keys: [G, 1, 1, P]."""
        if self.behind_end is None:
            return None
        zeros = torch.zeros_like(self.behind_end, dtype=like.dtype)
        return zeros.masked_fill_(self.behind_end, -torch.inf)[:, None, None]


def serves(query: Tensor, value: Tensor) -> bool:
    """Whether the fused kernel takes these."""
    return query.device.type == "cpu" and query.shape[-1] == value.shape[-1]


def attend(
    query: Tensor, prompt: tuple[Tensor, Tensor], own: tuple[Tensor, Tensor], sharing: Sharing, *, scale: float
) -> Tensor:
    """[N, R, H, E]: each token over its prompt's keys and values [G, P, h, E] and its own [N, R, h, E] up to itself."""
    device = query.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else query.dtype
    tensors = [x.to(dtype) for x in (query, *prompt, *own)]
    out: Tensor = _SharedPrompt.apply(*tensors, (sharing, scale))  # type: ignore[no-untyped-call]
    return out


class _SharedPrompt(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, kp: Tensor, vp: Tensor, ko: Tensor, vo: Tensor, how: tuple[Sharing, float]
    ) -> Tensor:
        sharing, scale = how
        tokens, heads = q.shape[1], kp.shape[2]
        of_prompt, sum_of_prompt = forward(
            sharing.to_grid(q, heads), *_heads_first(kp, vp), 0.0, False, attn_mask=sharing.mask(q), scale=scale
        )
        of_own, sum_of_own = forward(*_heads_first(q, *_spread(q, ko, vo)), 0.0, True, scale=scale)
        left = sharing.to_rows(sum_of_prompt[..., None], tokens)
        right = sum_of_own.transpose(1, 2)[..., None]
        total = torch.logaddexp(left, right)
        out = sharing.to_rows(of_prompt, tokens) * (left - total).exp() + of_own.transpose(1, 2) * (right - total).exp()
        merged: Tensor = out.to(q.dtype)
        ctx.save_for_backward(q, kp, vp, ko, vo, merged, total)
        ctx.sharing, ctx.scale = sharing, scale
        return merged

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = gradients
        q, kp, vp, ko, vo, out, total = ctx.saved_tensors
        sharing, tokens, heads, options = ctx.sharing, q.shape[1], kp.shape[2], {"scale": ctx.scale}
        grid = [sharing.to_grid(x, heads) for x in (q, out, total)]
        pushed = sharing.to_grid(g, heads)
        if not sharing.full:  # a row that fills a place of the grid is another's
            empty = torch.ones(sharing.row_at.numel(), dtype=torch.bool, device=g.device)
            empty[sharing.place_of_row] = False
            real = ~empty.view(sharing.row_at.shape)
            real = real[:, None, None, :, None].expand(-1, heads, q.shape[2] // heads, -1, tokens)
            pushed = pushed * real.reshape(*pushed.shape[:3], 1)
        keys = _heads_first(kp, vp)
        options_of_prompt = {**options, "attn_mask": sharing.mask(q)}
        dq, dkp, dvp = backward(
            pushed, grid[0], *keys, grid[1], grid[2][..., 0].contiguous(), 0.0, False, **options_of_prompt
        )
        whole = _heads_first(q, *_spread(q, ko, vo))
        dq_own, dko, dvo = backward(
            g.transpose(1, 2),
            *whole,
            out.transpose(1, 2),
            total[..., 0].transpose(1, 2).contiguous(),
            0.0,
            True,
            **options,
        )
        dq = sharing.to_rows(dq, tokens) + dq_own.transpose(1, 2)
        dkp, dvp = dkp.transpose(1, 2), dvp.transpose(1, 2)
        return dq, dkp, dvp, _gathered(dko, heads), _gathered(dvo, heads), None


def _heads_first(*of: Tensor) -> tuple[Tensor, ...]:
    return tuple(x.transpose(1, 2) for x in of)


def _spread(q: Tensor, *of: Tensor) -> tuple[Tensor, ...]:
    """Each key head once for every head that reads it."""
    return tuple(x.repeat_interleave(q.shape[2] // x.shape[2], 2) for x in of)


def _gathered(x: Tensor, heads: int) -> Tensor:
    """[N, H, R, E] to [N, R, h, E]: the gradients of all that read a key head."""
    rows, _, tokens, size = x.shape
    return x.reshape(rows, heads, -1, tokens, size).sum(2).transpose(1, 2)
