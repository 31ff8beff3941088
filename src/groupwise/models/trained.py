"""What a model that is trained has in common, whatever it is read for: parameters, their state, precision, adapters."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from groupwise import clock
from groupwise.candidates import Candidates, Need
from groupwise.data.batch import Batch
from groupwise.errors import ConfigError, MissingExtra, ModelError, did_you_mean
from groupwise.models.operations import Operations
from groupwise.models.sharding import like, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class LoraConfig:
    """Low-rank adapters (arXiv:2106.09685): only `B A x * alpha / rank` is trained beside each frozen layer."""

    rank: int = 16  # width of A and B
    alpha: float = 32.0  # scale of the update; twice the rank is usual
    target_modules: str | list[str] = "all-linear"  # names of layers, or all linear layers but the output's

    def __post_init__(self) -> None:
        if not self.rank >= 1:
            raise ConfigError(f"model.lora.rank = {self.rank}, must be 1 or more")
        if not self.alpha > 0:
            raise ConfigError(f"model.lora.alpha = {self.alpha}, must be above 0: it scales the update")
        if not self.target_modules:
            raise ConfigError(f'model.lora.target_modules = {self.target_modules!r}: name layers, or "all-linear"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Loading:
    """In what form a model is loaded for training.

    `dtype="bfloat16"` computes in bfloat16 and keeps the trained parameters in float32 (a step of 1e-6 is lost in
    bfloat16's 8 bits); parameters that an adapter leaves frozen are held in bfloat16.
    """

    dtype: str = "float32"
    lora: LoraConfig | None = None
    gradient_checkpointing: bool = False
    device: str | None = None  # None: the first there is of cuda, mps, cpu

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "bfloat16", "float64"):
            raise ConfigError(f'model.dtype = "{self.dtype}", must be one of float32, bfloat16, float64')

    @property
    def stored(self) -> torch.dtype:
        """What the parameters are held in."""
        if self.dtype == "float64":
            return torch.float64
        return torch.bfloat16 if self.dtype == "bfloat16" and self.lora is not None else torch.float32

    @property
    def autocast(self) -> torch.dtype | None:
        """What forward passes compute in, where it is not what the parameters are held in."""
        return torch.bfloat16 if self.dtype == "bfloat16" else None

    def apply(self, model: Any, path: str | Path, task: str) -> Any:
        """The model on its device, with adapters and recomputation as asked; `task` is peft's name of its kind."""
        if self.lora is not None:
            model = _with_adapters(model, self.lora, path, task)
        model.to(self.device or default_device())
        if self.gradient_checkpointing:
            if self.lora is not None:
                model.enable_input_require_grads()
            # transformers has renamed it; the older name warns
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable({"use_reentrant": False})
        return model


class Reader(Protocol):
    """A model that says of each candidate's tokens what an objective reads."""

    learned: str  # the tensor of `Candidates` that `read` fills in with a gradient

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        ...

    def read(self, batch: Batch, needs: Need = Need.NONE) -> Candidates:
        """The batch's candidates with `logp`, and `value` if it is needed."""
        ...

    def count(self, batch: Batch, *, backward: bool = False) -> None:
        """Tell the clock of a forward or backward pass over this batch."""
        ...

    def parameters(self) -> list[nn.Parameter]:
        """The parameters that are trained."""
        ...

    def trained_state(self) -> dict[str, Tensor]:
        """The trained parameters by name, whole and on the CPU."""
        ...

    def set_trained_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `trained_state` gave."""
        ...


class Trained:
    """A model of transformers with its tokenizer and the module that reads it. Dropout is off."""

    learned = "logp"  # the tensor of `Candidates` that `read` fills in with a gradient
    shares_prompts = False  # whether a prompt is computed once for all its responses

    def __init__(self, model: Any, tokenizer: Any, module: nn.Module, *, autocast: torch.dtype | None) -> None:
        _switch_dropout_off(model)
        _train_only_checkpointed_layers(model)
        self.model, self.tokenizer, self.module, self.autocast = model, tokenizer, module, autocast
        self.notes: list[str] = []  # what a user should know about how this model is run

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        device: torch.device = next(self.model.parameters()).device
        return device

    @property
    def adapted(self) -> bool:
        """Whether only adapters are trained."""
        return hasattr(self.model, "peft_config")

    @property
    def positions(self) -> int | None:
        """Tokens that the model has positions for; None if it names no limit."""
        limit: int | None = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return limit

    @property
    def sharded(self) -> bool:
        """Whether the parameters lie in shards over several ranks."""
        return any(hasattr(p, "device_mesh") for p in self.module.parameters())

    def parameters(self) -> list[nn.Parameter]:
        """The parameters that are trained."""
        return [p for p in self.module.parameters() if p.requires_grad]

    def trained_state(self) -> dict[str, Tensor]:
        """The trained parameters by name, whole and on the CPU. A collective where the policy is sharded."""
        trained = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        return {name: whole(p.detach()).cpu() for name, p in trained}

    @torch.no_grad()
    def set_trained_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `trained_state` gave; ModelError if it is another model's."""
        trained = {name: p for name, p in self.module.named_parameters() if p.requires_grad}
        if trained.keys() != state.keys():
            names = ", ".join(sorted(trained.keys() ^ state.keys())[:4])
            raise ModelError(f"the saved parameters are not this model's: they differ in {names}")
        for name, parameter in trained.items():
            if parameter.shape != state[name].shape:
                found = f"{list(state[name].shape)} saved, {list(parameter.shape)} in the model"
                raise ModelError(f"the saved parameters are not this model's: {name} has shape {found}")
            parameter.copy_(like(state[name], parameter))

    @cached_property
    def operations(self) -> Operations:
        """How many operations a token costs."""
        return Operations.of(self.model)

    def count(self, batch: Batch, *, backward: bool = False) -> None:
        """Tell the clock that the phase which runs took a forward or backward pass over this batch."""
        of = self.operations.backward if backward else self.operations.forward
        prompts = batch.prompts if self.shares_prompts else [batch.prompts[g] for g in batch.prompt_of]
        tokens = sum(map(len, prompts)) + sum(map(len, batch.responses))
        clock.count(tokens, of(batch, shared=self.shares_prompts))

    def layers(self) -> list[nn.Module]:
        """The repeated blocks of the decoder, in order: what is sharded one by one."""
        decoder: Any = self.module.decoder
        blocks = [list(m) for m in decoder.modules() if isinstance(m, nn.ModuleList)]
        return max(blocks, key=len)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """The precision that forward passes run in."""
        with torch.autocast(self.device.type, dtype=self.autocast or torch.bfloat16, enabled=self.autocast is not None):
            yield


def default_device() -> str:
    """cuda, mps or cpu: the first there is."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _switch_dropout_off(model: nn.Module) -> None:
    """Evaluation mode, and every rate to 0: some layers must later be told that they train, see below."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)


def _train_only_checkpointed_layers(model: nn.Module) -> None:
    """transformers recomputes a layer in the backward pass only where its own `training` flag is on."""
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", False):
            module.training = True


def _with_adapters(model: Any, lora: LoraConfig, path: str | Path, task: str) -> Any:
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("peft", "lora", "model.lora") from error
    width = model.config.get_text_config().hidden_size
    if lora.rank > width:
        raise ConfigError(f"model.lora.rank = {lora.rank}, must be at most {width}, the model's width")
    _check_targets(model, lora.target_modules)
    model.config._name_or_path = str(path)
    config = peft.LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=0.0, target_modules=lora.target_modules, task_type=task
    )
    try:
        return peft.get_peft_model(model, config)
    except ValueError as error:
        said = " ".join(str(error).split())
        raise ConfigError(f"model.lora.target_modules = {lora.target_modules!r}: {said}") from error


def _check_targets(model: nn.Module, targets: str | list[str]) -> None:
    """ConfigError for a name that no layer has; a text other than "all-linear" is a pattern, as in peft."""
    names = [name for name, _ in model.named_modules()]
    leaves = {
        n.rpartition(".")[2] for n, m in model.named_modules() if getattr(getattr(m, "weight", None), "ndim", 0) > 1
    }
    for target in [targets] if isinstance(targets, str) else targets:
        try:
            pattern = target if isinstance(targets, str) else rf"(.*\.)?{re.escape(target)}"
            found = target == "all-linear" or any(re.fullmatch(pattern, name) for name in names)
        except re.error as error:
            raise ConfigError(f"model.lora.target_modules = {target!r} is no pattern: {error}") from error
        if not found:
            hint = f" For layers of this name write [{target}]." if target in leaves else did_you_mean(target, leaves)
            raise ConfigError(f"model.lora.target_modules: no layer of the model is {target!r}.{hint}")
