"""Every error a user can cause. Each message says the value, the rule and the way out."""

from collections.abc import Iterable
from difflib import get_close_matches


class GroupwiseError(ValueError):
    """Base of all errors that something outside the library caused."""


class ConfigError(GroupwiseError):
    """A recipe, a flag or a constructor's argument is wrong."""


class DataError(GroupwiseError):
    """A file or one of its rows is wrong."""


class RewardError(GroupwiseError):
    """A reward raised or broke its contract."""


class RewardEndedError(RewardError):
    """A reward can judge nothing any more, such as one whose key is refused: this ends a run whatever it tolerates."""


class ModelError(GroupwiseError):
    """A model or tokenizer cannot be used as asked."""


class TrainingError(GroupwiseError):
    """A step cannot be taken: non-finite numbers, or nothing left to train on."""


class SandboxError(GroupwiseError):
    """Foreign code cannot be run as safely as asked, or the sandbox keeps failing."""


class MissingExtra(GroupwiseError, ImportError):  # noqa: N818  # says what is missing
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, what: str) -> None:
        super().__init__(f"{what} needs the package `{package}`: pip install 'groupwise[{extra}]'")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean `x`?' for the nearest known name, else the list of all."""
    names = sorted(known)
    if not names:
        return ""
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean `{near[0]}`?" if near else f" Known: {', '.join(names)}."
