"""Log-probabilities of chosen tokens from hidden states, the `[tokens, vocabulary]` logits never held whole.

Legend: M positions, D hidden size, V vocabulary.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from groupwise.errors import ModelError

CHUNK_ENTRIES = 1 << 24  # logits held at a time, in numbers: 64 MiB in float32


class Head:
    """How a causal model turns a hidden state into logits: a linear layer, then an optional scale and cap.

        z = cap tanh(scale (W h + b) / cap) / temperature          logp = z[target] - logsumexp(z)

    W, b are the output layer's; scale and cap stand in the model's configuration.
    """

    def __init__(self, model: Any) -> None:
        layer = model.get_output_embeddings()
        if type(layer) is not nn.Linear:
            raise ModelError(
                f"the output layer is a {type(layer).__name__}, must be a plain torch.nn.Linear: "
                "leave `lm_head` out of the adapter's target modules"
            )
        config = model.config.get_text_config()
        self.layer = layer
        self.scale = float(getattr(config, "logit_scale", None) or 1.0)
        self.scale /= float(getattr(config, "logits_scaling", None) or 1.0)
        self.cap = getattr(config, "final_logit_softcapping", None)

    def log_probs(
        self, hidden: Float[Tensor, "M D"], targets: Int[Tensor, "M"], *, temperature: float = 1.0
    ) -> Float[Tensor, "M"]:
        """logp of each target; differentiable in `hidden`, weight and bias; computed in float32 or better."""
        precise = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        rows = max(1, CHUNK_ENTRIES // self.layer.weight.shape[0])
        with torch.autocast(hidden.device.type, enabled=False):
            chosen: Tensor = _ChosenLogProbs.apply(  # type: ignore[no-untyped-call]  # torch does not type it
                hidden.to(precise),
                self.layer.weight.to(precise),
                None if self.layer.bias is None else self.layer.bias.to(precise),
                targets,
                (self.scale, self.cap, temperature),
                rows,
            )
        return chosen

    def logits(self, hidden: Float[Tensor, "M D"]) -> Float[Tensor, "M V"]:
        """Logits of a few positions, scale and cap applied: for sampling."""
        z: Tensor = self.layer(hidden)
        z = (z.float() if z.element_size() < 4 else z) * self.scale
        return z if self.cap is None else self.cap * torch.tanh(z / self.cap)


class _ChosenLogProbs(torch.autograd.Function):
    """Recomputes each chunk's logits in the backward pass instead of keeping them."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, shape: Any, rows: int
    ) -> Tensor:
        ctx.save_for_backward(hidden, weight, bias, targets)
        ctx.shape, ctx.rows = shape, rows
        out = hidden.new_empty(len(hidden))
        for part in _chunks(len(hidden), rows):
            z, _ = _logits(hidden[part], weight, bias, shape)
            out[part] = z.gather(1, targets[part, None])[:, 0] - z.logsumexp(1)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        hidden, weight, bias, targets = ctx.saved_tensors
        want_hidden, want_weight, want_bias = ctx.needs_input_grad[:3]
        d_hidden = torch.empty_like(hidden) if want_hidden else None
        d_weight = torch.zeros_like(weight) if want_weight else None
        d_bias = torch.zeros_like(bias) if want_bias else None
        for part in _chunks(len(hidden), ctx.rows):
            z, slope = _logits(hidden[part], weight, bias, ctx.shape)
            # d logp / d z = onehot - softmax
            g = gradient[part, None]
            d_logits = torch.softmax(z, 1).mul_(-g)
            d_logits.scatter_add_(1, targets[part, None], g)
            d_logits.mul_(slope)
            if d_hidden is not None:
                torch.mm(d_logits, weight, out=d_hidden[part])
            if d_weight is not None:
                d_weight.addmm_(d_logits.T, hidden[part])
            if d_bias is not None:
                d_bias += d_logits.sum(0)
        return d_hidden, d_weight, d_bias, None, None, None


def _chunks(length: int, rows: int) -> list[slice]:
    return [slice(i, min(i + rows, length)) for i in range(0, length, rows)]


def _logits(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, shape: tuple[float, float | None, float]
) -> tuple[Tensor, Tensor | float]:
    """Logits of a chunk, and their slope in `W h + b`."""
    scale, cap, temperature = shape
    z = torch.nn.functional.linear(hidden, weight, bias)
    if scale != 1.0:
        z = z.mul_(scale)
    slope: Tensor | float = scale / temperature
    if cap is not None:
        z = torch.tanh(z.div_(cap))
        slope = (1 - z * z).mul_(slope)
        z = z.mul(cap)
    return (z if temperature == 1.0 else z.div_(temperature)), slope
