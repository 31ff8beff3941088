"""How the next token is drawn: settings, counter-based randomness, and one vectorised step.

Legend: N rows, V vocabulary.
"""

from dataclasses import dataclass
from hashlib import blake2b

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groupwise.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How candidates are drawn from the policy."""

    k: int = 8  # candidates of a prompt
    max_new_tokens: int = 256  # a candidate that reaches it ends with finish_reason "length"
    temperature: float = 1.0  # logits are divided by it; 0: the likeliest token
    top_p: float = 1.0  # keep the likeliest tokens whose probabilities add up to top_p
    top_k: int = 0  # keep the top_k likeliest tokens; 0: all
    stop: tuple[str, ...] = ()  # a candidate ends where its text holds one of these

    def __post_init__(self) -> None:
        check_temperature("sampling.temperature", self.temperature)
        for name, low in (("k", 1), ("max_new_tokens", 1), ("top_k", 0)):
            value = getattr(self, name)
            if not value >= low:
                raise ConfigError(f"sampling.{name} = {value}, must be {low} or more")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"sampling.top_p = {self.top_p}, must be in (0, 1]: 1 keeps every token")
        if "" in self.stop:
            raise ConfigError('sampling.stop holds "", which would end every candidate at once: remove it')


def check_temperature(name: str, value: float) -> None:
    """ConfigError for one that logits cannot be divided by."""
    if value != 0 and not 1e-6 <= value <= 1e6:
        raise ConfigError(f"{name} = {value}, must be from 1e-6 to 1e6, or 0 for the likeliest token")


def stable_seed(*parts: int | str) -> int:
    """A 63-bit seed that depends on nothing but these parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift of int64."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def uniform(seed: Int[Tensor, "N"], counter: int) -> Float[Tensor, "N"]:
    """A number in [0, 1) for each seed and counter: SplitMix64's output at state `seed + counter`, 53 bits."""
    step = (counter + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    x = seed + (step - (1 << 64) if step >> 63 else step)
    x = (x ^ _shift(x, 30)) * -4658895280553007687  # 0xBF58476D1CE4E5B9
    x = (x ^ _shift(x, 27)) * -7723592293110705685  # 0x94D049BB133111EB
    return _shift(x ^ _shift(x, 31), 11).double() / (1 << 53)


def draw(
    logits: Float[Tensor, "N V"], seed: Int[Tensor, "N"], counter: int, sampling: Sampling
) -> tuple[Int[Tensor, "N"], Float[Tensor, "N"]]:
    """The next token of each row and its log-probability under the distribution it was drawn from.

    By inverting the cumulative distribution at one uniform number a row: a row's token depends on its
    own logits, seed and counter, and on nothing else in the batch. At temperature 0 the likeliest token
    is taken, and the log-probability is the model's own at temperature 1.
    """
    if sampling.temperature == 0:
        token = logits.argmax(-1)
        return token, logits.gather(1, token[:, None])[:, 0] - logits.logsumexp(-1)
    if sampling.temperature != 1:
        logits = logits / sampling.temperature
    if sampling.top_k or sampling.top_p < 1:
        logits = _filtered(logits, sampling)
    probs = torch.softmax(logits, -1)
    cumulative = probs.cumsum(-1, dtype=torch.float64)
    # at most 1 - 2^-53 of the total, which rounds below it: never behind the last token that has probability
    point = uniform(seed, counter) * cumulative[:, -1]
    token = torch.searchsorted(cumulative, point[:, None], right=True)[:, 0]
    token = token.clamp(max=logits.shape[-1] - 1)  # NaN lands behind the end: its log-probability then says so
    return token, probs.gather(1, token[:, None])[:, 0].log()


def _filtered(logits: Float[Tensor, "N V"], sampling: Sampling) -> Float[Tensor, "N V"]:
    """Logits with everything outside top-k and top-p at minus infinity; ties at the border of top-k are kept."""
    if sampling.top_k and sampling.top_k < logits.shape[-1]:
        border = logits.topk(sampling.top_k, -1).values[:, -1:]
        logits = logits.masked_fill(logits < border, -torch.inf)
    if sampling.top_p < 1:
        ordered, order = logits.sort(-1, descending=True)
        probs = torch.softmax(ordered, -1)
        beyond = probs.cumsum(-1) - probs >= sampling.top_p
        logits = logits.masked_fill(torch.zeros_like(beyond).scatter(1, order, beyond), -torch.inf)
    return logits
