"""A model with a scalar head: a reward model, or a critic apart from the policy."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from groupwise.candidates import Candidates, Need
from groupwise.data.batch import Batch
from groupwise.errors import ModelError
from groupwise.models.load import check_vocabulary, load_scalar, load_scalar_tokenizer
from groupwise.models.trained import Loading, LoraConfig, Trained

Place = Literal["after", "before"]


class TokenValues(nn.Module):
    """A sequence-classification model whose forward returns its score at chosen places.

    A causal family is read at any token; an encoder has one score for the whole text.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.scalar_model = model
        self.per_token = isinstance(getattr(self.inner, "score", None), nn.Linear)

    @property
    def inner(self) -> Any:
        """The model without its adapters."""
        return self.scalar_model.get_base_model() if hasattr(self.scalar_model, "peft_config") else self.scalar_model

    @property
    def decoder(self) -> nn.Module:
        """The model without its scalar head."""
        backbone: nn.Module = self.inner.base_model
        return backbone

    def forward(self, ids: Tensor, attention: Tensor) -> Float[Tensor, "N L"]:
        """The score at each token of right-padded rows; an encoder's is the same at all."""
        if not self.per_token:
            score: Tensor = self.scalar_model(input_ids=ids, attention_mask=attention).logits
            return score[:, :1].float().expand(ids.shape)
        hidden = self.decoder(input_ids=ids, attention_mask=attention, use_cache=False).last_hidden_state
        values: Tensor = self.inner.score(hidden)[:, :, 0]
        return values.float() if values.element_size() < 4 else values


class ScalarModel(Trained):
    """A sequence-classification model of transformers with one label.

    `place` says where a response's values are read: "after" each token, so that a reward stands at the last one, or
    "before" it, what a critic expects of the tokens so far. Rows are padded on the right and read at their own
    tokens: a score depends neither on what else is in the batch nor on the padding token.
    """

    learned = "value"

    def __init__(self, model: Any, tokenizer: Any, *, autocast: torch.dtype | None = None, place: Place) -> None:
        super().__init__(model, tokenizer, TokenValues(model), autocast=autocast)
        self.module: TokenValues
        self.place = place
        if place == "before" and not self.module.per_token:
            raise ModelError(f"{type(model).__name__} has no score at each token: a critic must be a causal model")

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        place: Place = "after",
        dtype: str = "float32",
        lora: LoraConfig | None = None,
        gradient_checkpointing: bool = False,
        device: str | None = None,
        new_head: bool = False,
    ) -> "ScalarModel":
        """A hub id or folder; with `new_head` a causal model or encoder gets a scalar head that says 0."""
        loading = Loading(dtype=dtype, lora=lora, gradient_checkpointing=gradient_checkpointing, device=device)
        tokenizer = load_scalar_tokenizer(path)
        model = load_scalar(path, tokenizer, dtype=loading.stored, new_head=new_head)
        check_vocabulary(model, tokenizer, path)
        model = loading.apply(model, path, "SEQ_CLS")
        return cls(model, tokenizer, autocast=loading.autocast, place=place)

    def read(self, batch: Batch, needs: Need = Need.NONE) -> Candidates:
        """The batch's candidates with `value`; `logp` is 0."""
        value = self.values(batch)
        return replace(batch.candidates, logp=torch.zeros_like(value), value=value)

    def values(self, batch: Batch) -> Float[Tensor, "N T"]:
        """The score after (or before) each response token under the mask, else 0."""
        rows = [batch.prompts[g] + r for g, r in zip(batch.prompt_of, batch.responses, strict=True)]
        self.count(batch)
        ids, attention = self._padded(rows)
        with self.computing():
            values: Tensor = self.module(ids, attention)
        row, token = batch.candidates.mask.nonzero().unbind(1)
        begin = torch.tensor([len(batch.prompts[g]) for g in batch.prompt_of], device=row.device)
        found = values[row, begin[row] + token - (1 if self.place == "before" else 0)]
        return values.new_zeros(batch.candidates.mask.shape).masked_scatter(batch.candidates.mask, found)

    @torch.no_grad()
    def rewards(self, rows: Sequence[tuple[int, ...]], *, max_tokens: int = 16384) -> list[float]:
        """The score of each row of token ids at its last token, in micro-batches of like length."""
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        found = [0.0] * len(rows)
        while order:
            part = order[-max(1, max_tokens // max(1, len(rows[order[-1]]))) :]
            del order[-len(part) :]
            ids, attention = self._padded([rows[i] for i in part])
            with self.computing():
                values = self.module(ids, attention)
            last = attention.sum(-1) - 1
            for i, value in zip(part, values.gather(1, last[:, None])[:, 0].tolist(), strict=True):
                found[i] = value
        return found

    def save(self, directory: Path) -> None:
        """A sequence-classification folder of transformers: adapters are merged into the weights. Not while sharded."""
        model = copy.deepcopy(self.model).merge_and_unload() if self.adapted else self.model
        model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def _padded(self, rows: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
        """Token ids and attention mask, padded on the right."""
        width = max(map(len, rows))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *([pad] * (width - len(row)))] for row in rows], device=self.device)
        attention = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=self.device)
        return ids, attention
