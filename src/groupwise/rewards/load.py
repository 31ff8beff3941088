"""Find a reward by its name, file or module, and set its fields."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from groupwise.config import build
from groupwise.errors import ConfigError, GroupwiseError, did_you_mean
from groupwise.rewards.call import Reward
from groupwise.rewards.combine import Combine
from groupwise.rewards.contains import Contains
from groupwise.rewards.exact import Exact
from groupwise.rewards.exact_answer import ExactAnswer
from groupwise.rewards.format import Format
from groupwise.rewards.json_schema import JsonSchema
from groupwise.rewards.judge import Judge
from groupwise.rewards.language import Language
from groupwise.rewards.length import Length
from groupwise.rewards.math_answer import MathAnswer
from groupwise.rewards.model import Model
from groupwise.rewards.reasoning_gym import ReasoningGym
from groupwise.rewards.regex import Regex
from groupwise.rewards.repetition import Repetition
from groupwise.rewards.sentiment import Sentiment
from groupwise.rewards.stdio import Stdio
from groupwise.rewards.toxicity import Toxicity
from groupwise.rewards.unit_tests import UnitTests
from groupwise.user_module import user_module

REWARDS: Mapping[str, type] = {
    "combine": Combine,
    "contains": Contains,
    "exact": Exact,
    "exact_answer": ExactAnswer,
    "format": Format,
    "json_schema": JsonSchema,
    "judge": Judge,
    "language": Language,
    "length": Length,
    "math_answer": MathAnswer,
    "model": Model,
    "reasoning_gym": ReasoningGym,
    "regex": Regex,
    "repetition": Repetition,
    "sentiment": Sentiment,
    "stdio": Stdio,
    "toxicity": Toxicity,
    "unit_tests": UnitTests,
}


TRAITS = ("batched", "grouped", "in_process", "overlaps", "deterministic", "gold")
"""What a reward may say of itself, as attributes of its function or class."""


def load_reward(spec: str, **settings: Any) -> Reward:
    """The reward that `spec` names, with its settings.

    `spec` is a built-in's name, `path/to/file.py:name`, or `package.module:name`; what it names is a
    function `(row, text, settings...)` or a class whose instances are called as `(row, text)`.
    Raises ConfigError for what does not exist, naming the nearest, and for settings it does not have.
    """
    found = find_reward(spec, settings)
    if inspect.isclass(found):
        return cast(Reward, _made(spec, found, settings))
    reward: Any = partial(found, **settings) if settings else found
    if settings:
        for trait in TRAITS:
            if hasattr(found, trait):
                setattr(reward, trait, getattr(found, trait))
    return cast(Reward, reward)


def find_reward(spec: str, settings: Mapping[str, Any]) -> Any:
    """The function or class that `spec` names, checked to take these settings, and not made yet. As `load_reward`."""
    where, colon, name = spec.rpartition(":")
    if not colon:
        if spec not in REWARDS:
            hint = f" For your own, give file and function: `{spec}:NAME`." if spec.endswith(".py") else ""
            raise ConfigError(f"there is no reward `{spec}`.{hint or did_you_mean(spec, REWARDS)}")
        found: Any = REWARDS[spec]
    else:
        module = user_module(where, "reward.name")
        found = getattr(module, name, None)
        if not callable(found):
            made = {name: value for name, value in vars(module).items() if callable(value)}
            own = [name for name, value in made.items() if getattr(value, "__module__", "") == module.__name__]
            problem = f"has no `{name}`" if found is None else f"has a `{name}` that cannot be called"
            raise ConfigError(f"reward `{spec}`: {where} {problem}.{did_you_mean(name, own)}")
    _check_settings(spec, found, settings)
    return found


def _check_settings(spec: str, found: Any, settings: Mapping[str, Any]) -> None:
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except ValueError as error:  # some of Python's own have none
        raise ConfigError(f"reward `{spec}` cannot be used: {error}; wrap it in a function of (row, text)") from error
    if not inspect.isclass(found):
        taken = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(taken) < 2 and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
            raise ConfigError(f"reward `{spec}` takes {inspect.signature(found)}, must take (row, text) and settings")
        parameters = parameters[2:]  # after row and text
    known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in settings:
        if name not in known and all(p.kind is not p.VAR_KEYWORD for p in parameters):
            hint = did_you_mean(name, known) if known else " It has no settings."
            raise ConfigError(f"reward `{spec}` has no setting `{name}`.{hint}")
    missing = [p.name for p in parameters if p.default is p.empty and p.name in known and p.name not in settings]
    if missing:
        raise ConfigError(f"reward `{spec}` needs the setting `{missing[0]}`, which has no default")


def _made(spec: str, found: Any, settings: Mapping[str, Any]) -> Any:
    if found in REWARDS.values():
        return build(found, settings, "reward.settings")
    try:
        return found(**settings)
    except (GroupwiseError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise ConfigError(
            f"reward `{spec}` cannot be made with {dict(settings)}: {type(error).__name__}: {error}"
        ) from error
