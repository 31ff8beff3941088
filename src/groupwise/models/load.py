"""Models and tokenizers from a hub id or a folder, checked before anything is trained."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from groupwise.data.template import ChatTemplate
from groupwise.errors import ModelError

_HUB_ID = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?")
_NO_FOLDER = "give one saved by save_pretrained, or a hub id like org/name that can be reached"


def load_tokenizer(path: str | Path, *, end: str = "") -> Any:
    """The folder's tokenizer; it must have an end-of-text token, or the special token named `end` in its place."""
    from transformers import AutoTokenizer

    place = _place(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place)
    except Exception as error:  # of transformers and of all that read files below it
        local = Path(place).is_dir()
        raise ModelError(
            f"the model {str(path)!r} holds no tokenizer that transformers can read ({_first_line(error)}): "
            f"{'save one there with tokenizer.save_pretrained(...)' if local else _NO_FOLDER}"
        ) from error
    if tokenizer.eos_token_id is None and end and getattr(tokenizer, end, None):
        tokenizer.eos_token = getattr(tokenizer, end)
    if tokenizer.eos_token_id is None:
        raise ModelError(
            f"the tokenizer of {str(path)!r} has no end-of-text token: set tokenizer.eos_token and save it"
        )
    return tokenizer


def load_model(path: str | Path, *, dtype: torch.dtype) -> Any:
    """The causal model, in `dtype`, every weight finite."""
    from transformers import AutoModelForCausalLM

    model, missing = _read(AutoModelForCausalLM, path, "is no causal model that transformers can read", dtype=dtype)
    if any("ForSequenceClassification" in name for name in model.config.architectures or ()):
        raise ModelError(
            f"the model {str(path)!r} gives scores and does not write: take a causal model, such as its base"
        )
    if missing:
        raise ModelError(
            f"the model {str(path)!r} lacks {len(missing)} weights of a {type(model).__name__}, the first "
            f"{missing[0]}: they would be random; take a complete checkpoint of a causal model"
        )
    return model


def _read(kind: Any, path: str | Path, problem: str, **settings: Any) -> tuple[Any, list[str]]:
    """The model and the weights that its files lack; ModelError where they hold others, or numbers that are none."""
    place = _place(path)
    try:
        model, loading = kind.from_pretrained(place, output_loading_info=True, ignore_mismatched_sizes=True, **settings)
    except Exception as error:  # of transformers and of all that read files below it
        raise ModelError(f"the model {str(path)!r} {problem}: {_first_line(error)}") from error
    for name, saved, wanted in sorted(loading["mismatched_keys"]):
        raise ModelError(
            f"the model {str(path)!r} {problem}: {name} is {list(saved)} in its file, {list(wanted)} by its "
            "config.json; the two do not belong together"
        )
    layers = {re.sub(r"\.\d+\.", ".N.", name) for name in model.state_dict() if re.search(r"\.\d+\.", name)}
    unused = sorted(name for name in loading["unexpected_keys"] if re.sub(r"\.\d+\.", ".N.", name) in layers)
    if unused:
        raise ModelError(
            f"the model {str(path)!r} {problem}: its config.json names fewer layers than its file holds: "
            f"{unused[0]} and {len(unused) - 1} more weights would be left out"
        )
    bad = [name for name, p in model.named_parameters() if not torch.isfinite(p).all()]
    if bad:
        raise ModelError(
            f"the model {str(path)!r} has NaN or infinite weights in {len(bad)} tensors, the first {bad[0]}: "
            "the file is damaged or an earlier training run diverged; take another checkpoint"
        )
    return model, sorted(loading["missing_keys"])


def load_scalar_tokenizer(path: str | Path) -> Any:
    """The folder's tokenizer with a padding token of its own.

    transformers reads a row's score before its padding: were that the end token, an answer's own end would be
    taken for padding. An encoder's separator is its end token.
    """
    tokenizer = load_tokenizer(path, end="sep_token")
    if tokenizer.pad_token_id in (None, tokenizer.eos_token_id):
        others = [t for t in (tokenizer.unk_token, tokenizer.bos_token) if t not in (None, tokenizer.eos_token)]
        if others:
            tokenizer.pad_token = others[0]
        else:
            tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    return tokenizer


def load_scalar(path: str | Path, tokenizer: Any, *, dtype: torch.dtype, new_head: bool) -> Any:
    """The sequence-classification model with one label, its padding token set; `new_head` starts the head at 0."""
    from transformers import AutoModelForSequenceClassification

    problem = "cannot be read as a model with a scalar head"
    model, missing = _read(AutoModelForSequenceClassification, path, problem, dtype=dtype, num_labels=1)
    head = [name for name in missing if name.split(".")[0] in ("score", "classifier", "pre_classifier", "pooler")]
    if missing and (len(head) < len(missing) or not new_head):
        raise ModelError(
            f"the model {str(path)!r} has no scalar head (it lacks {missing[0]}): give a reward model, such as one "
            "trained with objective.name: reward_model"
        )
    if missing:
        last = getattr(model, "score", None) or getattr(model, "classifier", None)
        for parameter in last.parameters() if isinstance(last, torch.nn.Linear) else ():
            torch.nn.init.zeros_(parameter)
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer))
    model.config.pad_token_id = tokenizer.pad_token_id
    return model


def check_vocabulary(model: Any, tokenizer: Any, path: str | Path) -> None:
    """Raise if the tokenizer can produce an id that the model has no embedding for."""
    rows, largest = model.get_input_embeddings().num_embeddings, max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise ModelError(
            f"the tokenizer of {str(path)!r} has ids up to {largest}, the model has {rows} embeddings: "
            "save the model's own tokenizer there, or call model.resize_token_embeddings(...) and save it"
        )


def end_token_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Tokens that end a response: the tokenizer's end of text, the chat template's end of turn, the configured ones."""
    return _end_token_ids(getattr(getattr(model, "generation_config", None), "eos_token_id", None), tokenizer)


def saved_end_token_ids(path: str | Path, tokenizer: Any) -> frozenset[int]:
    """The same from the model's files alone, without its weights."""
    from transformers import AutoConfig, GenerationConfig

    place, configured = _place(path), None
    for kind in (AutoConfig, GenerationConfig):  # what the second says goes before
        with suppress(Exception):  # a folder may hold a tokenizer alone; a model to train is read by `load_model`
            configured = getattr(kind.from_pretrained(place), "eos_token_id", None) or configured
    return _end_token_ids(configured, tokenizer)


def _end_token_ids(configured: int | list[int] | None, tokenizer: Any) -> frozenset[int]:
    several: list[int | None] = [*configured] if isinstance(configured, list) else [configured]
    if getattr(tokenizer, "chat_template", None):
        with suppress(ModelError):  # a template that cannot be used: whoever renders with it is told
            several.append(ChatTemplate(tokenizer).end_of_turn)
    return frozenset(i for i in [*several, tokenizer.eos_token_id] if i is not None)


def _place(path: str | Path) -> str:
    """The folder, or the hub id; ModelError for what can be neither."""
    folder = Path(path).expanduser()
    if path != "" and folder.is_dir():
        return str(folder)
    if isinstance(path, Path) or os.path.lexists(folder) or not _HUB_ID.fullmatch(path):
        raise ModelError(f"the model {str(path)[:200]!r} is not a folder: {_NO_FOLDER}")
    return path


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
