"""How many floating-point operations a model cannot do without, from its shape.

Legend: P tokens of a prompt, R of a response that are fed, M tokens that are scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from groupwise.data.batch import Batch


@dataclass(frozen=True, kw_only=True, slots=True)
class Operations:
    """Of one token: a multiplication and an addition for each weight that it meets and each number that it attends to.

    forward = 2 body tokens + 2 head M + 4 attention pairs
    pairs   = P (P + 1) / 2 for a prompt, R P + R (R + 1) / 2 for each of its responses

    A backward pass takes as much for the gradient of what the weights meet, as much again for that of the weights, of
    which only `trained` are asked for, and twice as much for attention. What is computed again to save memory is not
    counted.
    """

    body: int  # weights of the decoder's matrices; of experts, as many as a token meets
    head: int  # weights of the output layer
    attention: int  # heads x head size, over all layers
    trained: float = 1.0  # share of the weights that get a gradient

    @classmethod
    def of(cls, model: Any) -> "Operations":
        """Those of a causal model of transformers."""
        config = model.config.get_text_config()
        output = model.get_output_embeddings()
        embeddings = {id(weight) for m in model.modules() if isinstance(m, nn.Embedding) for weight in m.parameters()}
        head = output.weight.numel() if output is not None else 0
        skipped = embeddings | ({id(output.weight)} if output is not None else set())
        chosen, experts = (getattr(config, name, None) for name in ("num_experts_per_tok", "num_local_experts"))
        experts = experts or getattr(config, "num_experts", None)
        matrices = [(n, p) for n, p in model.named_parameters() if p.ndim > 1 and id(p) not in skipped]
        shares = [chosen / experts if chosen and experts and ".experts." in n else 1.0 for n, _ in matrices]
        body = sum(share * p.numel() for share, (_, p) in zip(shares, matrices, strict=True))
        heads = getattr(config, "num_attention_heads", 0)
        size = getattr(config, "head_dim", None) or config.hidden_size // max(heads, 1)
        trained = sum(p.numel() for _, p in matrices if p.requires_grad) / max(sum(p.numel() for _, p in matrices), 1)
        return cls(
            body=round(body), head=head, attention=config.num_hidden_layers * heads * size, trained=min(1.0, trained)
        )

    def forward(self, batch: Batch, *, shared: bool = True) -> float:
        """Of a batch's forward pass; with `shared` each prompt is computed once."""
        tokens, scored, pairs = _sizes(batch, shared)
        return 2.0 * self.body * tokens + 2.0 * self.head * scored + 4.0 * self.attention * pairs

    def backward(self, batch: Batch, *, shared: bool = True) -> float:
        """Of the backward pass that follows it."""
        tokens, scored, pairs = _sizes(batch, shared)
        weights = 2.0 * self.body * tokens + 2.0 * self.head * scored
        return (1 + self.trained) * weights + 8.0 * self.attention * pairs

    def prefill(self, prompts: Sequence[int]) -> float:
        """Of the pass over prompts of these lengths, whose last tokens' logits are asked for."""
        pairs = sum(n * (n + 1) // 2 for n in prompts)
        return 2.0 * self.body * sum(prompts) + 2.0 * self.head * len(prompts) + 4.0 * self.attention * pairs

    def decode(self, prompt: int, tokens: int) -> float:
        """Of the passes that write `tokens` tokens after a prompt, whose own pass gave the first."""
        fed = tokens - 1
        pairs = fed * prompt + fed * (fed + 1) // 2
        return 2.0 * (self.body + self.head) * fed + 4.0 * self.attention * pairs


def _sizes(batch: Batch, shared: bool) -> tuple[int, int, int]:
    """Tokens fed, positions scored, and pairs of a token and one that it attends to."""
    prompt = [len(ids) for ids in batch.prompts]
    response = [len(ids) - 1 for ids in batch.responses]  # the last token is not fed
    before = [prompt[g] for g in batch.prompt_of]
    computed = prompt if shared else before
    pairs = sum(n * (n + 1) // 2 for n in computed)
    pairs += sum(r * p + r * (r + 1) // 2 for p, r in zip(before, response, strict=True))
    return sum(computed) + sum(response), int(batch.candidates.mask.sum()), pairs
