"""How large a model is, from its configuration alone: no weight is read."""

from dataclasses import dataclass
from pathlib import Path

import torch

from groupwise.errors import ModelError
from groupwise.models.tiny import make_model, make_tokenizer

TINY = "tiny"  # the name of the model that is made on the spot


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSize:
    """What memory and lengths depend on."""

    parameters: int
    width: int  # of the layers' input
    layers: int
    positions: int | None  # the longest sequence; None: not stated


def size_of(path: str | Path) -> ModelSize:
    """The size of a folder's or hub id's causal model; of `tiny`, the one that is made on the spot.

    Raises ModelError for what has no configuration of a causal model.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    if path == TINY:
        model = make_model(len(make_tokenizer()))
    else:
        try:
            with torch.device("meta"):
                model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path))
        except Exception as error:  # of transformers and of all that read files below it
            said = str(error).strip().splitlines()
            raise ModelError(
                f"the model {str(path)!r} has no configuration of a causal model that can be read "
                f"({said[0] if said else type(error).__name__}): name a folder saved by save_pretrained"
            ) from error
    text = model.config.get_text_config()
    return ModelSize(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        width=text.hidden_size,
        layers=text.num_hidden_layers,
        positions=getattr(text, "max_position_embeddings", None),
    )
