"""The model that is trained: load, log-probabilities of a batch, save, and the view of its own reference."""

import contextlib
import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from groupwise.candidates import Candidates, Need
from groupwise.data.batch import Batch
from groupwise.errors import ModelError
from groupwise.models.head import Head
from groupwise.models.load import check_vocabulary, load_model, load_tokenizer
from groupwise.models.prefix import ATTENTION, PackedRow, PaddedRows, UnsupportedAttentionError, gather, register
from groupwise.models.probe import probe_batch
from groupwise.models.scalar import ScalarModel
from groupwise.models.trained import Loading, LoraConfig, Trained

CRITIC = "critic."  # before the names of a critic's parameters


class TokenLogProbs(nn.Module):
    """A causal model whose forward returns the log-probabilities of chosen tokens and never holds the logits."""

    def __init__(self, causal_model: Any) -> None:
        super().__init__()
        self.causal_model = causal_model
        self.head = Head(causal_model)
        self.value_head: nn.Linear | None = None

    def forward(
        self, layout: PackedRow | PaddedRows, *, temperature: float = 1.0
    ) -> tuple[Float[Tensor, "M"], Float[Tensor, "M"] | None]:
        """log-probability of each of the layout's targets, and what the value head expects before it."""
        hidden = self.decoder(use_cache=False, **layout.inputs).last_hidden_state
        scored = gather(hidden.flatten(0, 1), layout.predict_from)
        logp = self.head.log_probs(scored, layout.targets, temperature=temperature)
        if self.value_head is None:
            return logp, None
        with torch.autocast(scored.device.type, enabled=False):
            return logp, self.value_head(scored.to(self.value_head.weight.dtype))[:, 0]

    @property
    def decoder(self) -> nn.Module:
        """The causal model without its output layer."""
        inner = self.causal_model.get_base_model() if hasattr(self.causal_model, "peft_config") else self.causal_model
        decoder: nn.Module | None = inner.get_decoder()
        if decoder is inner:  # transformers did not find it
            decoder = getattr(inner, "model", None)
        if decoder is None:
            raise ModelError(f"{type(inner).__name__} has no decoder apart from its output layer: take another family")
        return decoder


class Policy(Trained):
    """A causal language model of transformers with its tokenizer.

    `log_probs` computes each prompt once for all its responses where the model's attention allows it; this
    is decided by an equality probe on construction (`shares_prompts`). Dropout is off: the policy that
    is trained is the policy that samples.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, autocast: torch.dtype | None = None, share_prompts: bool = True
    ) -> None:
        super().__init__(model, tokenizer, TokenLogProbs(model), autocast=autocast)
        self.module: TokenLogProbs
        self.temperature = 1.0  # of the distribution whose log-probabilities are returned
        self.critic: ScalarModel | None = None  # a critic with a model of its own, trained along
        self.shares_prompts = False
        probe = probe_batch(model.config.get_text_config().vocab_size, self.device)
        self._check_head(probe)
        if share_prompts:
            self._share_prompts(probe)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        dtype: str = "float32",
        lora: LoraConfig | None = None,
        gradient_checkpointing: bool = False,
        device: str | None = None,
        share_prompts: bool = True,
    ) -> "Policy":
        """A hub id or a local folder, as a model to train: see `Loading`."""
        loading = Loading(dtype=dtype, lora=lora, gradient_checkpointing=gradient_checkpointing, device=device)
        tokenizer = load_tokenizer(path)
        model = load_model(path, dtype=loading.stored)
        check_vocabulary(model, tokenizer, path)
        model = loading.apply(model, path, "CAUSAL_LM")
        return cls(model, tokenizer, autocast=loading.autocast, share_prompts=share_prompts)

    def log_probs(self, batch: Batch) -> Float[Tensor, "N T"]:
        """Log-probability of each response token under the mask, given its prompt and what stands before; else 0."""
        return self._forward(batch, self._layout(batch))[0]

    def read(self, batch: Batch, needs: Need = Need.NONE) -> Candidates:
        """The batch's candidates with `logp`, and `value` if it is needed, of one forward pass."""
        logp, value = self._forward(batch, self._layout(batch))
        if Need.VALUE not in needs:
            return replace(batch.candidates, logp=logp)
        if self.critic is not None:
            value = self.critic.values(batch)
        assert value is not None, "the objective needs a critic: call add_value_head(), or set policy.critic"
        return replace(batch.candidates, logp=logp, value=value)

    def add_value_head(self) -> None:
        """A critic on the policy's own trunk: V(prompt, tokens so far) = v h + b, which expects 0 at first."""
        embedding = self.model.get_input_embeddings().weight
        stored = torch.float64 if embedding.dtype == torch.float64 else torch.float32
        head = nn.Linear(self.model.config.get_text_config().hidden_size, 1, device=self.device, dtype=stored)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        self.module.value_head = head

    def parameters(self) -> list[nn.Parameter]:
        """The parameters that are trained, the critic's too."""
        return super().parameters() + ([] if self.critic is None else self.critic.parameters())

    def trained_state(self) -> dict[str, Tensor]:
        """As `Trained.trained_state`, the critic's under "critic."."""
        critic = {} if self.critic is None else self.critic.trained_state()
        return super().trained_state() | {CRITIC + name: value for name, value in critic.items()}

    def set_trained_state(self, state: Mapping[str, Tensor]) -> None:
        """As `Trained.set_trained_state`, the critic's too."""
        own = {name: value for name, value in state.items() if not name.startswith(CRITIC)}
        super().set_trained_state(own)
        if self.critic is not None:
            self.critic.set_trained_state({n.removeprefix(CRITIC): v for n, v in state.items() if n not in own})

    def _layout(self, batch: Batch) -> PackedRow | PaddedRows:
        return (PackedRow if self.shares_prompts else PaddedRows)(batch, self.device)

    def _forward(self, batch: Batch, layout: PackedRow | PaddedRows) -> tuple[Tensor, Tensor | None]:
        """Log-probabilities and values as `[N, T]`."""
        mask = batch.candidates.mask
        self.count(batch)
        with self.computing():
            logp, value = self.module(layout, temperature=self.temperature)
        zeros = logp.new_zeros(mask.shape)
        return zeros.masked_scatter(mask, logp), None if value is None else zeros.masked_scatter(mask, value.to(logp))

    def _log_probs(self, batch: Batch, layout: PackedRow | PaddedRows) -> Float[Tensor, "N T"]:
        return self._forward(batch, layout)[0]

    @contextlib.contextmanager
    def reference_view(self) -> Iterator["Policy"]:
        """The policy with its adapters off: the model it started from, with no second copy in memory."""
        if not self.adapted:
            raise ModelError("a reference view needs adapters; without them, load the reference as a second Policy")
        with self.model.disable_adapter():
            yield self

    def save(self, directory: Path) -> None:
        """An ordinary Hugging Face folder: adapters are merged into the weights. Not while sharded."""
        model = copy.deepcopy(self.model).merge_and_unload() if self.adapted else self.model
        attention, model.config._attn_implementation = model.config._attn_implementation, None
        model.save_pretrained(directory)
        model.config._attn_implementation = attention
        self.tokenizer.save_pretrained(directory)

    @torch.no_grad()
    def _check_head(self, batch: Batch) -> None:
        """Raise if the family does more to its logits than `Head` knows of."""
        ids = torch.tensor([batch.prompts[0]], device=self.device)
        with self.computing():
            hidden = self.module.decoder(input_ids=ids, use_cache=False).last_hidden_state[0]
            ours = self.module.head.logits(hidden).log_softmax(-1)
            native = self.model(input_ids=ids, use_cache=False).logits[0].to(ours.dtype).log_softmax(-1)
        difference = (ours - native).abs().max().item()
        if not difference <= self._tolerance:
            raise ModelError(
                f"{type(self.model).__name__}: log-probabilities from its output layer differ from its own by "
                f"{difference:.2g}: what it does to its logits is not supported; take a model of another family"
            )

    @property
    def _tolerance(self) -> float:
        """How far the log-probabilities of two equal ways of computing may lie apart."""
        half = self.autocast is not None or self.model.dtype in (torch.bfloat16, torch.float16)
        return 0.2 if half else 1e-3

    def _share_prompts(self, batch: Batch) -> None:
        """Turn prompt sharing on if the packed row gives the same log-probabilities as separate rows."""
        plain = self.model.config._attn_implementation
        why = self._packed_row_fails(batch)
        self.shares_prompts = not why
        if why:
            self.model.set_attn_implementation(plain)
            name = type(self.model).__name__
            self.notes.append(f"{name}: a prompt is computed once for each of its responses, not shared ({why})")

    @torch.no_grad()
    def _packed_row_fails(self, batch: Batch) -> str:
        """Why the packed row cannot be used with this model; empty if it can."""
        config = self.model.config.get_text_config()
        layers = config.num_hidden_layers
        if getattr(config, "attention_chunk_size", None):
            return "it attends in chunks"
        separate = self._log_probs(batch, PaddedRows(batch, self.device))
        layout = PackedRow(batch, self.device)
        register()
        try:
            self.model.set_attn_implementation(ATTENTION)
            together = self._log_probs(batch, layout)
        except (UnsupportedAttentionError, ValueError, TypeError, KeyError, RuntimeError) as error:
            return str(error).splitlines()[0]
        if len(layout.attended) != layers:
            return f"{len(layout.attended)} of its {layers} layers take transformers' attention interface"
        # a window longer than the probe would make no difference in it
        if _slides(config) and set(layout.attended.values()) == {None}:
            return "its layers keep their sliding window from the attention function"
        difference = (together - separate).abs().max().item()
        return "" if difference <= self._tolerance else f"log-probabilities differ by {difference:.2g}"


def _slides(config: Any) -> bool:
    """Whether some layer attends to a sliding window."""
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    return bool(getattr(config, "sliding_window", None)) and "sliding_attention" in kinds
